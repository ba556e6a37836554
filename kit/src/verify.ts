/**
 * What every receiver needs: `verify` says whether a request is a webhook of your Chancery, and what it tells. It uses Web Crypto and
 * nothing else, so it runs wherever `crypto.subtle` does: Node, Deno, Bun, Workers, browsers. Beside it in this package: `fetch.ts`,
 * `express.ts` and `fastify.ts` connect it to a server, `seen.ts` handles each webhook once, `record-order.ts` keeps the order.
 *
 * Chancery signs each request in two ways. By default the headers of Standard Webhooks are checked, as they also cover the id and the
 * time of the attempt. `X-Service-Signature` covers the body alone, so a captured request stays good for ever; it is checked only
 * where a receiver says so, and never because the better headers are absent: whoever sends a request decides which headers it has.
 */
import { findHeader, getHeader, type HeaderSource, toNumber } from './headers.ts';
import {
  isSignedBy,
  keyOf,
  type PublicKeys,
  publicKeysOf,
  type Scheme,
  signatureOf,
  standardContent,
  toBytes,
  type WebhookBody,
} from './signature.ts';
import { SecretError, SignatureError, TimestampError } from './webhook-errors.ts';
import { type AnyRecords, readEvent, type TruncatedEvent, type WebhookEvent } from './webhook-event.ts';
import { readFacts, type WebhookFacts } from './webhook-facts.ts';

// The one door of the package: receivers find what `verify` returns and throws where they find `verify`.
export * from './webhook-errors.ts';
export type * from './webhook-event.ts';
export * from './webhook-facts.ts';
export type { HeaderSource } from './headers.ts';
export type { JwkSet, PublicKeys, Scheme, WebhookBody } from './signature.ts';

/** The secret of the endpoint as Chancery shows it; several while it changes, or when endpoints share a receiver. */
export type Secrets = string | readonly string[];

export interface VerifyOptions {
  /** Either this or `publicKey`. */
  readonly secret?: Secrets;
  /** For an endpoint with `ed25519`: then the asymmetric signatures are checked, and no HMAC. */
  readonly publicKey?: PublicKeys;
  /** `standard` (the default): the headers `webhook-*`. `service`: `X-Service-Signature`, which covers the body alone. */
  readonly scheme?: Scheme;
  /** How far the time of an attempt may be from this machine's clock, in both directions. 300 by default. */
  readonly toleranceSeconds?: number;
  /** Milliseconds since 1970. `Date.now` by default. */
  readonly nowMs?: () => number;
}

/** A webhook that was verified. When `isTruncated`, the record was too large: fetch it by its id. */
export type Webhook<Records = AnyRecords> = WebhookFacts &
  (
    | { readonly isTruncated: false; readonly event: WebhookEvent<Records> }
    | { readonly isTruncated: true; readonly event: TruncatedEvent<Records> }
  );

const toleranceSecondsDefault = 300;

/**
 * Returns the webhook in a request. Throws a WebhookError that says what is wrong when the request is not genuine, and a SecretError
 * when the secret cannot be one. `Records` is the receiver's own claim about its collections: their fields are not checked.
 */
export async function verify<Records = AnyRecords>(
  secret: Secrets | VerifyOptions,
  headers: HeaderSource,
  body: WebhookBody,
): Promise<Webhook<Records>> {
  const bytes = toBytes(body);
  await checkSignature(toOptions(secret), headers, bytes);
  const webhook = {
    ...readFacts(headers),
    isTruncated: findHeader(headers, 'x-service-truncated') === 'data',
    event: readEvent(bytes),
  };
  // The members that all events have were checked; the fields of records are the receiver's claim.
  return webhook as Webhook<Records>;
}

/** Throws a WebhookError unless one of the secrets has signed the body. The body itself may be anything. */
export async function verifySignature(
  secret: Secrets | VerifyOptions,
  headers: HeaderSource,
  body: WebhookBody,
): Promise<void> {
  await checkSignature(toOptions(secret), headers, toBytes(body));
}

async function checkSignature(
  options: VerifyOptions,
  headers: HeaderSource,
  body: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const { secret, publicKey, scheme = 'standard' } = options;
  if (publicKey !== undefined) return checkPublicKey({ ...options, publicKey }, headers, body);
  const secrets = typeof secret === 'object' ? secret : [secret ?? ''];
  if (secrets.length === 0) throw new SecretError('There is no secret to verify with.');
  const keys = secrets.map((one) => keyOf(one, scheme));
  const { candidates, signed } =
    scheme === 'service'
      ? serviceSignature(headers, body)
      : standardSignature(options, 'v1', { headers, body });
  let isGenuine = false;
  for (const key of keys) {
    const expected = await signatureOf(key, signed, scheme);
    // All are compared, whichever matches: the time taken must not depend on it.
    for (const candidate of candidates) isGenuine = isEqual(candidate, expected) || isGenuine;
  }
  if (!isGenuine) {
    throw new SignatureError(
      'No signature was made with the secret over this body. Is it the secret of this endpoint, and are these the bytes that came?',
    );
  }
}

/** The most signatures of a request that are looked at: the service makes one, or two during a rotation. */
const candidatesMax = 8;

/** Which signatures are checked is decided by the receiver alone: an HMAC by a public key proves nothing. */
async function checkPublicKey(
  options: VerifyOptions & { readonly publicKey: PublicKeys },
  headers: HeaderSource,
  body: Uint8Array<ArrayBuffer>,
): Promise<void> {
  if (options.secret !== undefined) throw new SecretError('Give a secret or a public key, not both.');
  if (options.scheme === 'service') throw new SecretError('A public key verifies the scheme standard alone.');
  const keys = publicKeysOf(options.publicKey);
  const { candidates, signed } = standardSignature(options, 'v1a', { headers, body });
  for (const candidate of candidates.slice(0, candidatesMax))
    if (await isSignedBy(keys, signed, candidate.slice('v1a,'.length))) return;
  throw new SignatureError(
    'No signature was made with the private key over this body. Are these the keys of this instance, and the bytes that came?',
  );
}

interface SignedText {
  /** The signatures in the headers, any of which may be the one by a given secret. */
  readonly candidates: readonly string[];
  readonly signed: Uint8Array<ArrayBuffer>;
}

interface SignedRequest {
  readonly headers: HeaderSource;
  readonly body: Uint8Array<ArrayBuffer>;
}

function standardSignature(
  options: VerifyOptions,
  version: 'v1' | 'v1a',
  { headers, body }: SignedRequest,
): SignedText {
  const id = getHeader(headers, 'webhook-id');
  const timestamp = getHeader(headers, 'webhook-timestamp');
  const entries = getHeader(headers, 'webhook-signature').split(' ');
  checkTimestamp(timestamp, options);
  const candidates = entries.filter((entry) => entry.startsWith(`${version},`));
  if (candidates.length === 0) {
    throw new SignatureError(`The header webhook-signature has no signature of version ${version}.`);
  }
  return { candidates, signed: standardContent({ id, timestamp, body }) };
}

function serviceSignature(headers: HeaderSource, body: Uint8Array<ArrayBuffer>): SignedText {
  const current = getHeader(headers, 'x-service-signature');
  const previous = findHeader(headers, 'x-service-signature-previous');
  return { candidates: previous === undefined ? [current] : [current, previous], signed: body };
}

function checkTimestamp(timestamp: string, options: VerifyOptions): void {
  const { toleranceSeconds = toleranceSecondsDefault, nowMs = Date.now } = options;
  const ageSeconds = Math.floor(nowMs() / 1000) - (toNumber(timestamp) ?? Number.NaN);
  // Not `> tolerance`: that would let NaN pass, from the header or from an option.
  if (!(Math.abs(ageSeconds) <= toleranceSeconds)) throw new TimestampError(ageSeconds, toleranceSeconds);
}

/** Compares texts in a time that depends on their lengths alone, which are no secret. */
function isEqual(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let index = 0; index < a.length; index += 1) difference |= a.charCodeAt(index) ^ b.charCodeAt(index);
  return difference === 0;
}

function toOptions(secret: Secrets | VerifyOptions): VerifyOptions {
  // Only an object that is no array has options; a missing secret is refused later, in words.
  return isOptions(secret) ? secret : { secret };
}

function isOptions(secret: Secrets | VerifyOptions): secret is VerifyOptions {
  return typeof secret === 'object' && ('secret' in secret || 'publicKey' in secret);
}
