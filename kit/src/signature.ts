/** How Chancery signs: what both the one who verifies and the one who tests a receiver must compute alike. */
import { SecretError } from './webhook-errors.ts';

/** `standard`: the headers `webhook-*` of Standard Webhooks. `service`: `X-Service-Signature`, which covers the body alone. */
export type Scheme = 'standard' | 'service';

/** The body as it came. A text is good only if nothing has parsed it and written it again. */
export type WebhookBody = Uint8Array | ArrayBuffer | string;

type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();

/** Returns what a signature of Standard Webhooks covers: the id, the time of the attempt and the body. */
export function standardContent(parts: {
  readonly id: string;
  readonly timestamp: string;
  readonly body: Bytes;
}): Bytes {
  const prefix = encoder.encode(`${parts.id}.${parts.timestamp}.`);
  const content = new Uint8Array(prefix.length + parts.body.length);
  content.set(prefix);
  content.set(parts.body, prefix.length);
  return content;
}

/** Returns the signature by a key, as the text that the headers of the scheme have it. */
export async function signatureOf(key: Bytes, content: Bytes, scheme: Scheme): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign']);
  const digest = [...new Uint8Array(await crypto.subtle.sign('HMAC', imported, content))];
  if (scheme === 'service') return digest.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `v1,${btoa(String.fromCharCode(...digest))}`;
}

/** `X-Service-Signature` is keyed by the secret as it is shown, Standard Webhooks by what follows `whsec_` in base64. */
export function keyOf(secret: string, scheme: Scheme): Bytes {
  if (typeof secret !== 'string' || secret === '') {
    throw new SecretError('The secret is empty: is it set in the environment?');
  }
  if (!/^[\x20-\x7e]+$/.test(secret)) {
    throw new SecretError('The secret has characters that no secret has: is a line break at its end?');
  }
  // Everybody may know a public key, and could make the HMAC of anything with it.
  if (/^wh[ps]k_|^-----BEGIN /.test(secret)) {
    throw new SecretError('This is no secret but a key: give a public key as publicKey.');
  }
  if (scheme === 'service' || !secret.startsWith('whsec_')) return encoder.encode(secret);
  try {
    const key = Uint8Array.from(atob(secret.slice('whsec_'.length)), (letter) => letter.charCodeAt(0));
    if (key.length > 0) return key;
  } catch {
    // Answered below, as what an empty one is.
  }
  throw new SecretError('What follows whsec_ in the secret is not base64: was it copied whole?');
}

/**
 * The public keys of an instance: one or more of the form `whpk_…`, as `GET /api/webhooks/keys` has them, or the document of
 * `/.well-known/jwks.json`.
 */
export type PublicKeys = string | readonly string[] | JwkSet;

export interface JwkSet {
  readonly keys: readonly { readonly kty?: string; readonly crv?: string; readonly x?: string }[];
}

/** Returns the bytes of each key, or throws a SecretError. Keys of other kinds in a JWK Set are left out. */
export function publicKeysOf(keys: PublicKeys): readonly Bytes[] {
  const texts = isJwkSet(keys)
    ? keys.keys.filter(({ kty, crv }) => kty === 'OKP' && crv === 'Ed25519').map(({ x = '' }) => x)
    : (typeof keys === 'string' ? [keys] : keys).map(bareKey);
  if (texts.length === 0) throw new SecretError('There is no Ed25519 key to verify with.');
  return texts.map((text) => {
    const bytes = decodedKey(text.replaceAll('-', '+').replaceAll('_', '/'));
    if (bytes?.length === 32) return bytes;
    throw new SecretError('A public key is not base64 of 32 bytes: was it copied whole?');
  });
}

/** Arrays have a member `keys` as well. */
function isJwkSet(keys: PublicKeys): keys is JwkSet {
  return typeof keys === 'object' && !Array.isArray(keys) && 'keys' in keys && Array.isArray(keys.keys);
}

function bareKey(key: string): string {
  if (key.startsWith('whpk_')) return key.slice('whpk_'.length);
  throw new SecretError('A public key begins with whpk_: is this a secret?');
}

function decodedKey(base64: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Whether a signature (`v1a`) was made with the private key of one of these public keys. */
export async function isSignedBy(
  keys: readonly Bytes[],
  content: Bytes,
  signature: string,
): Promise<boolean> {
  const bytes = decodedKey(signature);
  if (bytes?.length !== 64) return false;
  const algorithm = { name: 'Ed25519' };
  for (const key of keys) {
    const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['verify']);
    if (await crypto.subtle.verify(algorithm, imported, bytes, content)) return true;
  }
  return false;
}

export function toBytes(body: WebhookBody): Bytes {
  if (typeof body === 'string') return encoder.encode(body);
  // Not `instanceof`: in a browser's frame or a test runner the bytes may come from another global scope.
  const kind = Object.prototype.toString.call(body);
  // A copy of bytes, so that nobody changes them between the check and the reading.
  if (kind === '[object Uint8Array]' || kind === '[object ArrayBuffer]') return new Uint8Array(body);
  throw new TypeError('The body must be the bytes or the text that came: it was parsed, or never read.');
}
