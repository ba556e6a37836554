/**
 * Signatures by which a receiver verifies that a request is from this service and unchanged. Two schemes are sent side by side: the
 * service's own (hex of the body alone, keyed by the secret as shown) and Standard Webhooks, which also covers the event's id and
 * the attempt's time so that a receiver can reject replays (github.com/standard-webhooks/standard-webhooks). An endpoint may ask for the
 * asymmetric signatures of that standard as well, which a receiver verifies without a secret.
 */

import {
  createHmac,
  createPrivateKey,
  createSecretKey,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { isReservedHeader } from './endpoint-request.ts';
import type { AttemptRequest } from './attempt-result.ts';
import { batchContentType, batchHeaders } from './batch-request.ts';

const SECRET_PREFIX = 'whsec_';
const NEW_SECRET_BYTES = 32;
const secretBytesMin = 16;
const secretBytesMax = 256;
/** Key objects kept in the cache: more than a busy process has endpoints to send to within a minute. */
const cachedKeysMax = 2_048;

const printableAscii = /^[\x20-\x7e]*$/;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

interface SecretKeys {
  readonly asShown: KeyObject;
  readonly standard: KeyObject;
}

/** Oldest first, because a Map keeps the order of insertion. */
const cachedKeys = new Map<string, SecretKeys>();

/** Returns the lower-case hex HMAC-SHA256 of the body; the key is the secret exactly as shown, prefix included. */
export function signBody(body: Uint8Array, secret: string): string {
  return createHmac('sha256', keysOf(secret).asShown).update(body).digest('hex');
}

export interface StandardSignatureInput {
  readonly id: string;
  readonly timestampSeconds: number;
  readonly body: Uint8Array;
  /** The current secret first; during a rotation the previous one second. */
  readonly secrets: readonly string[];
  /** The private keys of asymmetric signatures, in the same order. */
  readonly signingKeys?: AttemptRequest['signingKeys'];
}

/** Returns the `webhook-signature` header: `v1,` and base64 for each secret, `v1a,` and base64 for each key, separated by spaces. */
export function standardSignature(input: StandardSignatureInput): string {
  const prefix = `${input.id}.${input.timestampSeconds}.`;
  let text = '';
  for (const secret of input.secrets) {
    const digest = createHmac('sha256', keysOf(secret).standard)
      .update(prefix)
      .update(input.body)
      .digest('base64');
    text += text === '' ? `v1,${digest}` : ` v1,${digest}`;
  }
  if (input.signingKeys === undefined) return text;
  const content = Buffer.concat([Buffer.from(prefix), input.body]);
  for (const key of input.signingKeys)
    text += ` v1a,${sign(null, content, privateKeyOf(key)).toString('base64')}`;
  return text;
}

/** An instance has one, or two during a rotation. */
const cachedPrivateKeysMax = 256;

/** Oldest first. */
const cachedPrivateKeys = new Map<string, KeyObject>();

function privateKeyOf({ d, x }: NonNullable<AttemptRequest['signingKeys']>[number]): KeyObject {
  const cached = cachedPrivateKeys.get(d);
  if (cached !== undefined) return cached;
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' });
  const [oldest] = cachedPrivateKeys.keys();
  if (oldest !== undefined && cachedPrivateKeys.size >= cachedPrivateKeysMax)
    cachedPrivateKeys.delete(oldest);
  cachedPrivateKeys.set(d, key);
  return key;
}

export function newSigningSecret(): string {
  return SECRET_PREFIX + randomBytes(NEW_SECRET_BYTES).toString('base64');
}

/** Returns why a secret of an endpoint's owner is rejected, in words; null when it is valid. */
export function checkSigningSecret(text: string): string | null {
  if (!printableAscii.test(text)) return 'A secret must consist of printable ASCII characters.';
  if (text.length < secretBytesMin || text.length > secretBytesMax) {
    return `A secret must be ${secretBytesMin} to ${secretBytesMax} characters long.`;
  }
  // Everybody may know it, so everybody could sign with it.
  if (/^wh[ps]k_/.test(text)) return 'A secret must not be a key of asymmetric signatures (whpk_, whsk_).';
  if (!text.startsWith(SECRET_PREFIX)) return null;
  const decoded = decodeStandardSecret(text);
  // A stock verifier decodes what follows the prefix as base64: with any other text no signature would ever verify.
  if (decoded === null) return `After ${SECRET_PREFIX} a secret must be padded base64.`;
  if (decoded.length < secretBytesMin) {
    return `After ${SECRET_PREFIX} a secret must hold at least ${secretBytesMin} bytes as base64.`;
  }
  return null;
}

/** Returns warnings about a valid secret. */
export function secretWarnings(secret: string): readonly string[] {
  if (decodeStandardSecret(secret) !== null) return [];
  return [
    `The secret is not ${SECRET_PREFIX} followed by base64. Libraries for Standard Webhooks verify if they are given ${SECRET_PREFIX} and the base64 of the secret.`,
  ];
}

function keysOf(secret: string): SecretKeys {
  const cached = cachedKeys.get(secret);
  if (cached !== undefined) return cached;
  const bytes = Buffer.from(secret, 'utf8');
  const keys = {
    asShown: createSecretKey(bytes),
    standard: createSecretKey(decodeStandardSecret(secret) ?? bytes),
  };
  if (cachedKeys.size >= cachedKeysMax) {
    const oldest = cachedKeys.keys().next();
    if (!oldest.done) cachedKeys.delete(oldest.value);
  }
  cachedKeys.set(secret, keys);
  return keys;
}

/** Returns the bytes after `whsec_`, or null when the secret does not have that form. */
function decodeStandardSecret(secret: string): Buffer | null {
  if (!secret.startsWith(SECRET_PREFIX)) return null;
  const encoded = secret.slice(SECRET_PREFIX.length);
  return encoded !== '' && base64.test(encoded) ? Buffer.from(encoded, 'base64') : null;
}

/** Returns a flat list of names and values as an object. */
export function headersByName(flat: readonly string[]): Readonly<Record<string, string>> {
  const pairs = flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ''] as const] : []));
  return Object.fromEntries(pairs);
}

/** Returns the headers of one attempt as a flat list of names and values; `timestampSeconds` is the time of the attempt. */
export function requestHeaders(request: AttemptRequest, timestampSeconds: number): string[] {
  if (request.consent !== undefined) return consentHeaders(request, request.consent);
  const { body, secrets, signingKeys, eventId, batch } = request;
  const [current = '', previous] = secrets;
  const headers = [
    'Content-Type',
    batch === undefined ? 'application/json' : batchContentType(request),
    'User-Agent',
    `Chancery/${request.version}`,
    'Accept-Encoding',
    'identity',
    'X-Service-Signature',
    signBody(body, current),
    ...(batch === undefined ? eventHeaders(request) : batchHeaders(request, batch)),
    'webhook-id',
    eventId,
    'webhook-timestamp',
    String(timestampSeconds),
    'webhook-signature',
    standardSignature({ id: eventId, timestampSeconds, body, secrets, signingKeys }),
  ];
  if (previous !== undefined) headers.push('X-Service-Signature-Previous', signBody(body, previous));
  if (request.cause !== undefined) headers.push(...causeHeaders(request.cause));
  if (request.traceparent !== '') headers.push('traceparent', request.traceparent);
  if (request.tracestate !== '') headers.push('tracestate', request.tracestate);
  if (request.cloudEvent !== undefined && batch === undefined)
    headers.push(...cloudEventHeaders(request, request.cloudEvent));
  if (request.isTest === true) headers.push('X-Service-Test', 'true');
  if (request.isThin && batch === undefined) headers.push('X-Service-Truncated', 'data');
  headers.push(...customHeaders(request));
  return headers;
}

function customHeaders(request: AttemptRequest): readonly string[] {
  const headers: string[] = [];
  for (const name in request.customHeaders) {
    // Saving an endpoint rejects reserved names, but an endpoint may be older than the reservation.
    const isTaken = isReservedHeader(name) || (request.cloudEvent !== undefined && name.startsWith('ce-'));
    if (!isTaken) headers.push(name, request.customHeaders[name] ?? '');
  }
  return headers;
}

/** Who asks a receiver for its consent: a host name. */
export type Consent = NonNullable<AttemptRequest['consent']>;

/** There is no body, so nothing is signed. */
function consentHeaders(request: AttemptRequest, { origin }: Consent): string[] {
  const agent = ['User-Agent', `Chancery/${request.version}`, 'Accept-Encoding', 'identity'];
  return [...agent, 'WebHook-Request-Origin', origin, ...customHeaders(request)];
}

/** What is about one event. */
function eventHeaders({
  event,
  collection,
  deliveryId,
  attempt,
  sequence,
}: AttemptRequest): readonly string[] {
  return [
    'X-Service-Event',
    event,
    'X-Service-Collection',
    collection,
    'X-Service-Delivery',
    deliveryId,
    'X-Service-Attempt',
    String(attempt),
    'X-Service-Sequence',
    String(sequence),
  ];
}

function causeHeaders(cause: NonNullable<AttemptRequest['cause']>): readonly string[] {
  const { actor, hops, changed, backfill, transition } = cause;
  const headers = ['X-Service-Hops', String(hops)];
  if (actor !== '') headers.push('X-Service-Actor', actor);
  if (changed !== '') headers.push('X-Service-Changed', changed);
  if (backfill !== undefined) headers.push('X-Service-Backfill', backfill);
  if (transition !== undefined) headers.push('X-Service-Transition', transition);
  return headers;
}

/** The attributes of an event in the binary mode of CloudEvents 1.0 (cloudevents.io, HTTP protocol binding, section 3.1). */
function cloudEventHeaders(
  { eventId, event }: AttemptRequest,
  { source, subject, schema, time }: NonNullable<AttemptRequest['cloudEvent']>,
): readonly string[] {
  const headers = [
    'ce-specversion',
    '1.0',
    'ce-id',
    eventId,
    'ce-source',
    source,
    'ce-type',
    event,
    'ce-time',
    time,
  ];
  if (subject !== '') headers.push('ce-subject', subject);
  if (schema !== '') headers.push('ce-dataschema', schema);
  return headers;
}
