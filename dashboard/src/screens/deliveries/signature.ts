/** What a receiver got of a webhook, and the secret that it has. */
export interface SignatureInput {
  readonly secret: string;
  /** The `webhook-id`. */
  readonly id: string;
  /** The `webhook-timestamp`: seconds since 1970. */
  readonly timestamp: string;
  readonly body: string;
}

const prefix = 'whsec_';

/** True where the browser offers its cryptography: on HTTPS and on this machine. */
export function canSign(): boolean {
  return globalThis.isSecureContext;
}

/** The `webhook-signature` of Standard Webhooks: over id, time and body, by the bytes behind `whsec_`. */
export async function standardSignature({ secret, id, timestamp, body }: SignatureInput): Promise<string> {
  return `v1,${toBase64(await sign(standardKey(secret), `${id}.${timestamp}.${body}`))}`;
}

/** `X-Service-Signature`: over the body alone, by the secret as it is shown. */
export async function bodySignature({
  secret,
  body,
}: Pick<SignatureInput, 'secret' | 'body'>): Promise<string> {
  return toHex(await sign(bytesOf(secret), body));
}

/** What there is to say of a signature that a receiver got. */
export type SignatureVerdict =
  | { readonly kind: 'match'; readonly scheme: 'webhook-signature' | 'X-Service-Signature' }
  | { readonly kind: 'differs'; readonly reason: string };

/** What the service itself would send, to tell what is other than there. */
export interface SignatureReference {
  readonly body: string;
  /** What the service signs it with now: the secret of the endpoint, and the one before while both are good. Empty where that is not to be had. */
  readonly bodySignatures: readonly string[];
}

/** Compares a signature, and says what has to be other for it to be right. */
export async function compareSignature(
  input: SignatureInput,
  received: string,
  reference: SignatureReference,
): Promise<SignatureVerdict> {
  const text = received.trim();
  if (text.split(/\s+/).includes(await standardSignature(input)))
    return { kind: 'match', scheme: 'webhook-signature' };
  if (text.toLowerCase() === (await bodySignature(input)))
    return { kind: 'match', scheme: 'X-Service-Signature' };
  return { kind: 'differs', reason: await findDifference(input, text, reference) };
}

async function findDifference(
  input: SignatureInput,
  received: string,
  { body, bodySignatures }: SignatureReference,
): Promise<string> {
  const { secret } = input;
  if (bodySignatures.length > 0 && !bodySignatures.includes(await bodySignature({ secret, body })))
    return 'The secret differs from the endpoint’s. Reveal it and compare it with your receiver’s.';
  if (!/^(?:v1,[A-Za-z0-9+/]{43}=\s*)+$/.test(received) && !/^[0-9a-f]{64}$/i.test(received))
    return 'Not a signature: expected v1, with 44 characters of base64, or 64 hex digits. Was the whole header copied?';
  if (await matchesAny({ ...input, body }, received)) return describeBody(input.body, body);
  const near = await findTimestamp({ ...input, body }, received);
  if (near !== undefined) return `The time differs: it was signed with webhook-timestamp ${near}.`;
  if (await isSignedAsText(input, received))
    return `The secret was used as text. For webhook-signature, the key is the decoded base64 after ${prefix}.`;
  if (input.body !== body) return `${describeBody(input.body, body)} The time or the id may also differ.`;
  return 'Secret and body are correct, so the signature belongs to another attempt, event or endpoint: compare webhook-id and webhook-timestamp.';
}

async function matchesAny(input: SignatureInput, received: string): Promise<boolean> {
  const candidates = received.split(/\s+/);
  return (
    candidates.includes(await standardSignature(input)) ||
    received.toLowerCase() === (await bodySignature(input))
  );
}

const nearSeconds = 5;

/** The time of an attempt is known to the second, give or take what signing took. */
async function findTimestamp(input: SignatureInput, received: string): Promise<number | undefined> {
  const candidates = received.split(/\s+/);
  const middle = Number(input.timestamp);
  if (!Number.isSafeInteger(middle)) return undefined;
  for (let step = -nearSeconds; step <= nearSeconds; step += 1) {
    const timestamp = String(middle + step);
    if (candidates.includes(await standardSignature({ ...input, timestamp }))) return middle + step;
  }
  return undefined;
}

async function isSignedAsText(
  { secret, id, timestamp, body }: SignatureInput,
  received: string,
): Promise<boolean> {
  const signature = toBase64(await sign(bytesOf(secret), `${id}.${timestamp}.${body}`));
  return received.split(/\s+/).includes(`v1,${signature}`);
}

function describeBody(given: string, sent: string): string {
  if (isSameJson(given, sent))
    return 'The body is the same JSON in different bytes: it was parsed and serialized again. Verify the received bytes, then parse them.';
  let place = 0;
  while (place < sent.length && sent[place] === given[place]) place += 1;
  return `The body differs from what was sent, first at character ${place + 1}.`;
}

function isSameJson(one: string, other: string): boolean {
  try {
    return JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other));
  } catch {
    return false;
  }
}

async function sign(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, bytesOf(text)));
}

function standardKey(secret: string): Uint8Array<ArrayBuffer> {
  const encoded = secret.startsWith(prefix) ? secret.slice(prefix.length) : '';
  if (encoded === '' || !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(encoded))
    return bytesOf(secret);
  return Uint8Array.from(atob(encoded), (letter) => letter.codePointAt(0) ?? 0);
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCodePoint(...bytes));
}

function toHex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
