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
  if (scheme === 'service' || !secret.startsWith('whsec_')) return encoder.encode(secret);
  try {
    const key = Uint8Array.from(atob(secret.slice('whsec_'.length)), (letter) => letter.charCodeAt(0));
    if (key.length > 0) return key;
  } catch {
    // Answered below, as what an empty one is.
  }
  throw new SecretError('What follows whsec_ in the secret is not base64: was it copied whole?');
}

export function toBytes(body: WebhookBody): Bytes {
  if (typeof body === 'string') return encoder.encode(body);
  // Not `instanceof`: in a browser's frame or a test runner the bytes may come from another global scope.
  const kind = Object.prototype.toString.call(body);
  // A copy of bytes, so that nobody changes them between the check and the reading.
  if (kind === '[object Uint8Array]' || kind === '[object ArrayBuffer]') return new Uint8Array(body);
  throw new TypeError('The body must be the bytes or the text that came: it was parsed, or never read.');
}
