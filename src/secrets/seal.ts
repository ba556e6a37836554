import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { assert } from '../base/assert.ts';
import { decodeBase64url } from './token.ts';
import { type MasterKey, SecretError } from './master-key.ts';

/** What a sealed text belongs to. It opens nowhere else, so that copying a row to another place gains nothing. */
export interface SealPlace {
  /** What the value is for, from a closed set: `endpoint-secret`, `smtp-password`, … Contains no `|`. */
  readonly purpose: string;
  /** Which value of that purpose. */
  readonly id: string;
}

/** Seals the secrets of one instance. Sealed texts look like `v1.<nonce>.<ciphertext and tag>`, base64url. */
export interface Sealer {
  seal(plain: string, place: SealPlace): string;
  /** Throws SecretError when the text was sealed with another key, altered or moved. */
  open(sealed: string, place: SealPlace): string;
  /** HMAC-SHA256 of a text as base64url: distinguishes texts, and cannot be used to test a guess without the key. */
  fingerprint(text: string): string;
  /** What it seals with. */
  readonly keys: InstanceKeys;
}

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
/** GCM's standard size. Random nonces are safe for 2^32 texts under one key, and each instance has its own key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The keys of an instance. */
export interface InstanceKeys {
  /** The id for which they were derived. An instance that was imported may have another master key now. */
  readonly id: string;
  readonly seal: KeyObject;
  readonly fingerprint: KeyObject;
}

export function deriveKeys(masterKey: MasterKey, instanceId: string): InstanceKeys {
  assert(!instanceId.includes('|'), 'an instance id holds no |');
  const derive = (purpose: string): KeyObject =>
    createSecretKey(
      Buffer.from(hkdfSync('sha256', masterKey, '', `chancery ${purpose} v1|${instanceId}`, KEY_BYTES)),
    );
  return { id: instanceId, seal: derive('seal'), fingerprint: derive('fingerprint') };
}

export function sealerFor(masterKey: MasterKey, instanceId: string): Sealer {
  return sealerOf(deriveKeys(masterKey, instanceId));
}

export function sealerOf(keys: InstanceKeys): Sealer {
  const { id: instanceId, seal: key, fingerprint: fingerprintKey } = keys;

  function seal(plain: string, place: SealPlace): string {
    assert(plain.isWellFormed(), 'a sealed text must survive UTF-8');
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(additionalBytes(instanceId, place));
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `v1.${nonce.toString('base64url')}.${sealed.toString('base64url')}`;
  }

  function open(sealed: string, place: SealPlace): string {
    const parts = parseSealed(sealed);
    if (parts === undefined)
      throw new SecretError(
        `The sealed ${place.purpose} is damaged: it does not have the form v1.<nonce>.<text>.`,
      );
    const decipher = createDecipheriv(ALGORITHM, key, parts.nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(additionalBytes(instanceId, place));
    decipher.setAuthTag(parts.tag);
    // Decoded only after `final` has checked the tag: until then the bytes may be an attacker's.
    const plain = decipher.update(parts.ciphertext);
    try {
      decipher.final();
    } catch (error) {
      const message = `The sealed ${place.purpose} cannot be opened: the master key is another one, or the text was altered or moved.`;
      throw new SecretError(message, { cause: error });
    }
    return plain.toString('utf8');
  }

  const fingerprint = (text: string): string =>
    createHmac('sha256', fingerprintKey).update(text).digest('base64url');

  return { seal, open, fingerprint, keys };
}

interface SealedParts {
  readonly nonce: Buffer;
  readonly ciphertext: Buffer;
  readonly tag: Buffer;
}

function parseSealed(sealed: string): SealedParts | undefined {
  const [version, nonceText, text, ...rest] = sealed.split('.');
  if (version !== 'v1' || nonceText === undefined || text === undefined || rest.length > 0) return undefined;
  const nonce = decodeBase64url(nonceText);
  const bytes = decodeBase64url(text);
  if (nonce?.length !== NONCE_BYTES || bytes === undefined || bytes.length < TAG_BYTES) return undefined;
  const end = bytes.length - TAG_BYTES;
  return { nonce, ciphertext: bytes.subarray(0, end), tag: bytes.subarray(end) };
}

/** The place as bytes. Only the last part may contain `|`, so that no two places have the same bytes. */
function additionalBytes(instanceId: string, { purpose, id }: SealPlace): Buffer {
  assert(!purpose.includes('|'), 'a purpose holds no |');
  return Buffer.from(`${instanceId}|${purpose}|${id}`, 'utf8');
}
