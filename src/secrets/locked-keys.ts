import { createSecretKey, randomBytes, scrypt, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';
import { type MasterKey, SecretError } from './master-key.ts';
import { type InstanceKeys, sealerFor } from './seal.ts';

/** The keys of an instance, which a passphrase opens. */
export interface LockedKeys {
  readonly salt: string;
  readonly sealed: string;
}

const KEY_BYTES = 32;
const SALT_BYTES = 16;
/** Takes 128 MiB and a few tenths of a second, for each guess as well. */
const cost: ScryptOptions = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };
const place = { purpose: 'instance-keys', id: '' };

const derive = promisify<string, Uint8Array, number, ScryptOptions, Buffer>(scrypt);

/** Locks the keys of an instance by a passphrase. */
export async function lockKeys(keys: InstanceKeys, passphrase: string): Promise<LockedKeys> {
  const salt = randomBytes(SALT_BYTES);
  const key = await passphraseKey(passphrase, salt);
  return { salt: salt.toString('base64url'), sealed: sealerFor(key, 'archive').seal(toText(keys), place) };
}

/** Throws SecretError for another passphrase. */
export async function unlockKeys(locked: LockedKeys, passphrase: string): Promise<InstanceKeys> {
  const key = await passphraseKey(passphrase, Buffer.from(locked.salt, 'base64url'));
  return toKeys(sealerFor(key, 'archive').open(locked.sealed, place));
}

/** Seals the keys of an instance that are not derived from this master key, to be stored beside its name. */
export function sealKeys(masterKey: MasterKey, instanceId: string, keys: InstanceKeys): string {
  return sealerFor(masterKey, instanceId).seal(toText(keys), place);
}

/** Throws SecretError. */
export function openKeys(masterKey: MasterKey, instanceId: string, sealed: string): InstanceKeys {
  return toKeys(sealerFor(masterKey, instanceId).open(sealed, place));
}

/** Whether two instances seal alike. */
export function areSameKeys(one: InstanceKeys, other: InstanceKeys): boolean {
  return one.id === other.id && one.seal.equals(other.seal) && one.fingerprint.equals(other.fingerprint);
}

/** Spaces and the form of letters that look alike do not matter: people type it. */
async function passphraseKey(passphrase: string, salt: Uint8Array): Promise<MasterKey> {
  return createSecretKey(await derive(passphrase.normalize('NFKC').trim(), salt, KEY_BYTES, cost));
}

function toText({ id, seal, fingerprint }: InstanceKeys): string {
  return [id, ...[seal, fingerprint].map((key) => key.export().toString('base64url'))].join('|');
}

function toKeys(text: string): InstanceKeys {
  const [id, ...keys] = text.split('|');
  const [seal, fingerprint] = keys.map((key) => createSecretKey(Buffer.from(key, 'base64url')));
  if (id === undefined || seal === undefined || fingerprint === undefined)
    throw new SecretError('The keys of an instance are damaged.');
  return { id, seal, fingerprint };
}
