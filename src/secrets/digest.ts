import { createHash, hash, timingSafeEqual } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { randomText } from '../base/ids.ts';

/** Returns the SHA-256 of a text as base64url, 43 characters: distinguishes texts even if an attacker has chosen one. */
export function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}

/** Returns the SHA-256 of a text in hex, as other software compares it. */
export function hexDigest(text: string): string {
  return hash('sha256', text);
}

/** Returns the SHA-256 of bytes of a file in hex; `end` is the last of them. */
export async function fileDigest(
  path: string,
  range: { readonly start?: number; readonly end?: number } = {},
): Promise<string> {
  return streamDigest(createReadStream(path, range));
}

/** As {@link fileDigest}, of a whole stream. */
export async function streamDigest(stream: Readable): Promise<string> {
  const hashing = createHash('sha256');
  await pipeline(stream, hashing);
  return hashing.digest('hex');
}

/** True when this is the digest of the text. Compares in constant time, so that timing does not reveal how much of it fits. */
export function isDigestOf(digested: string, text: string): boolean {
  const [expected, actual] = [Buffer.from(digested), Buffer.from(digest(text))];
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

/** As {@link digest}, of bytes that come in pieces. */
export class BytesDigest {
  readonly #hash = createHash('sha256');

  add(piece: Uint8Array): void {
    this.#hash.update(piece);
  }

  /** Returns the digest of the pieces so far. */
  now(): string {
    return this.#hash.copy().digest('base64url');
  }

  /** Returns the digest of all pieces; none can be added any more. */
  end(): string {
    return this.#hash.digest('base64url');
  }
}

/** Returns the MD5 of a text in hex, for values that other software compares. It protects neither secrets nor integrity. */
export function md5(text: string): string {
  return hash('md5', text);
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 43 characters of 62 make 256 bits. */
const length = 43;

/** Makes a secret that is shown once and stored only as a digest: 43 characters of `[0-9A-Za-z]`. */
export function newSecretText(): string {
  return randomText(length, alphabet);
}
