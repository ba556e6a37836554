import {
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, syncDirectory } from '../base/process.ts';
import { sql } from '../sql/sql.ts';
import type { Database, Reader } from '../storage/database.ts';

/** A KeyObject rather than bytes, as it reveals nothing when it is logged, printed or turned into JSON by mistake. */
export type MasterKey = KeyObject;

/** Where the key may come from, in this order. Giving both a text and a file is refused. */
export interface MasterKeySource {
  /** The key itself: 32 bytes as hex, base64 or base64url. */
  readonly text: string | undefined;
  /** A file that holds such text. */
  readonly file: string | undefined;
  /** The directory of `master.key`, which is used without the other two. */
  readonly dataDirectory: string;
  /** False once there is data: a new key beside it would hide that the old one is lost. */
  readonly mayCreate: boolean;
}

const KEY_BYTES = 32;
/** Fewer different bytes, or characters, than this are less likely in a random key than a broken disk; it refuses keys such as `aaaa…`. */
const distinctMin = 8;
const keyFileBytesMax = 1024;
const KEY_FILE = 'master.key';

export async function loadMasterKey(source: MasterKeySource): Promise<MasterKey> {
  if (source.text !== undefined && source.file !== undefined) {
    throw new SecretError('Both a master key and a master key file are set: set only one of them.');
  }
  if (source.text !== undefined) return parseMasterKey(source.text, 'The master key');
  if (source.file !== undefined) return getKeyFile(source.file);
  const path = join(source.dataDirectory, KEY_FILE);
  const key = await findKeyFile(path);
  if (key !== undefined) return key;
  if (!source.mayCreate) {
    throw new SecretError(
      `${path} is missing, but there is data that was sealed with it: restore the file or set the key.`,
    );
  }
  await createKeyFile(source.dataDirectory, path);
  return getKeyFile(path);
}

/** Reads a key from its text; `name` begins the message of a refusal. */
export function parseMasterKey(text: string, name: string): MasterKey {
  const bytes = decodeKey(text.trim());
  if (bytes === undefined) {
    throw new SecretError(
      `${name} is not ${KEY_BYTES} bytes in hex, base64 or base64url. Make one: openssl rand -hex 32`,
    );
  }
  if (hasPattern(bytes) || hasPattern(Buffer.from(text.trim().toLowerCase())))
    throw new SecretError(`${name} is not random: it repeats or counts. Make one: openssl rand -hex 32`);
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}

/**
 * True for bytes, or characters, that repeat or mostly count up or down. That a random key is one of these is less likely than
 * 1 in 10^15.
 */
function hasPattern(bytes: Uint8Array): boolean {
  if (new Set(bytes).size < distinctMin) return true;
  const half = bytes.length / 2;
  const steps = bytes.subarray(1).map((byte, index) => byte - (bytes[index] ?? 0));
  if (steps.some((step) => steps.filter((other) => other === step).length > half)) return true;
  const isRepeating = (period: number): boolean =>
    bytes.subarray(period).every((byte, index) => byte === bytes[index]);
  return bytes.subarray(0, half).some((_, index) => isRepeating(index + 1));
}

/** A value to recognise the key by, safe to store beside the data: derived one way, it reveals nothing about other derived keys. */
export function keyCheckValue(key: MasterKey): string {
  return Buffer.from(hkdfSync('sha256', key, '', 'chancery key check v1', KEY_BYTES)).toString('base64url');
}

/** Throws unless `stored` came from this key: with another key the service would write what cannot be opened later. */
export function requireKeyCheckValue(key: MasterKey, stored: string): void {
  const expected = Buffer.from(keyCheckValue(key));
  const actual = Buffer.from(stored);
  if (actual.length === expected.length && timingSafeEqual(actual, expected)) return;
  throw new SecretError(
    'The master key is not the one this data was sealed with. Nothing was changed: start with the right key.',
  );
}

function decodeKey(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  if (!/^(?:[A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=?$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  // The last of the 43 characters has two spare bits; if they are set, the text was cut or mistyped.
  const canonical = text.replace('=', '').replaceAll('+', '-').replaceAll('/', '_');
  return bytes.toString('base64url') === canonical ? bytes : undefined;
}

async function getKeyFile(path: string): Promise<MasterKey> {
  const key = await findKeyFile(path);
  if (key === undefined) throw new SecretError(`The master key file ${path} does not exist.`);
  return key;
}

async function findKeyFile(path: string): Promise<MasterKey | undefined> {
  let file: FileHandle;
  try {
    // Non-blocking: opening a pipe at this path would otherwise hang the start.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new SecretError(`The master key file ${path} cannot be read.`, { cause: error });
  }
  try {
    await checkKeyFile(file, path);
    return parseMasterKey(await file.readFile('utf8'), `The key in ${path}`);
  } finally {
    await file.close();
  }
}

/** Checks the open file and not the path, which could lead to another file now. */
async function checkKeyFile(file: FileHandle, path: string): Promise<void> {
  const stats = await file.stat();
  if (!stats.isFile()) throw new SecretError(`The master key file ${path} is not a file.`);
  if ((stats.mode & 0o077) !== 0) {
    throw new SecretError(
      `The master key file ${path} may be read by others than its owner. Run: chmod 600 ${path}`,
    );
  }
  if (stats.size > keyFileBytesMax)
    throw new SecretError(`The master key file ${path} is too large to be a key.`);
}

/**
 * Makes the key file. The key is complete and synced before the file gets its name, by `link` and not by `rename`: of two processes
 * that start at once, the second would replace the key of the first. With `link` it uses the key that is there.
 */
async function createKeyFile(directory: string, path: string): Promise<void> {
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(`${randomBytes(KEY_BYTES).toString('base64url')}\n`);
    await file.sync();
    await link(temporary, path).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
  } finally {
    await file.close();
    await unlink(temporary);
  }
  await syncDirectory(directory);
}

/** Opens the master key. The first start binds it to the data; later another key is refused before it seals anything. */
export async function openMasterKey(
  control: Database,
  source: Omit<MasterKeySource, 'mayCreate'>,
): Promise<MasterKey> {
  const stored = await readKeyCheck(control);
  const masterKey = await loadMasterKey({ ...source, mayCreate: stored === undefined });
  // Another process may be setting up the same data: the first to write decides.
  await control.write((tx) =>
    tx.run(sql`
      INSERT INTO ${tx.names.table('$setting')} (name, value) VALUES ('key_check', ${keyCheckValue(masterKey)}) ON CONFLICT DO NOTHING`),
  );
  requireKeyCheckValue(masterKey, String(await readKeyCheck(control)));
  return masterKey;
}

/** Returns the check value of the master key of this data; undefined where there is none yet. */
export async function readKeyCheck(control: Reader): Promise<string | undefined> {
  const setting = control.names.table('$setting');
  const row = await control.get(sql`SELECT value FROM ${setting} WHERE name = 'key_check'`);
  return row === undefined ? undefined : String(row['value']);
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SOURCE_KEY_BYTES = 32;

/** Decrypts a text of other software: base64 of nonce, AES-256-GCM ciphertext and tag. Undefined when the key does not fit. */
export function openEncryptedText(text: string, key: string): string | undefined {
  const bytes = Buffer.from(text, 'base64');
  const keyBytes = Buffer.from(key, 'utf8');
  if (keyBytes.length !== SOURCE_KEY_BYTES || bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', keyBytes, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const plain = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    decipher.final();
  } catch {
    // The tag does not match: the decrypted text is meaningless.
    return undefined;
  }
  return plain.toString('utf8');
}

/**
 * A key or a sealed text is not valid. The operator can fix that (the message says how) but a caller cannot, so callers get a 500:
 * it is never an AppError. Messages name files and purposes, never values.
 */
export class SecretError extends Error {
  override readonly name = 'SecretError';
}
