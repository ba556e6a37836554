import { isSecretHeader, maskedValue } from './endpoint-request.ts';

/** Shorter texts are not secrets, and masking each occurrence would make a response unreadable. */
const secretLengthMin = 4;
/** A part of a value is masked on its own if it is longer than `Bearer`; so many parts are, as the header's owner decides how many it has. */
const partLengthMin = 8;
const partsMax = 4;

/**
 * Returns the texts to mask in a stored response, although its receiver knows them, longest first: signatures, values of headers
 * with secret-sounding names, and long parts of them such as the token after `Bearer`. `sent`: names and values of the request's
 * headers, in turn.
 */
export function sentSecrets(sent: readonly string[]): readonly string[] {
  const secrets = new Set<string>();
  for (let at = 0; at < sent.length; at += 2) {
    if (!isSecretHeader((sent[at] ?? '').toLowerCase())) continue;
    const value = sent[at + 1] ?? '';
    const parts = value.split(/[ ,;=]+/, partsMax).filter(({ length }) => length >= partLengthMin);
    for (const secret of value.length < secretLengthMin ? parts : [value, ...parts])
      for (const form of writtenForms(secret)) secrets.add(form);
  }
  return [...secrets].toSorted((one, other) => other.length - one.length);
}

/** A secret as it is, and inside JSON, where some languages escape a slash as well. */
function writtenForms(secret: string): readonly string[] {
  if (!/["\\/]/.test(secret)) return [secret];
  const json = JSON.stringify(secret).slice(1, -1);
  return [secret, json, json.replaceAll('/', '\\/')];
}

export function masked(text: string, secrets: readonly string[]): string {
  let rest = text;
  // Most responses have none, and a search costs less than a replacement.
  for (const secret of secrets) if (rest.includes(secret)) rest = rest.replaceAll(secret, maskedValue);
  return rest;
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

export function maskedHeaders(headers: ResponseHeaders, secrets: readonly string[]): ResponseHeaders {
  const result: Record<string, string | string[]> = {};
  for (const name in headers) {
    const value = headers[name] ?? '';
    result[masked(name, secrets)] = Array.isArray(value)
      ? value.map((one) => masked(one, secrets))
      : masked(value, secrets);
  }
  return result;
}

/**
 * Returns the body of a response with its secrets masked. At the end of a truncated body, the possible beginning of a secret
 * is left out.
 */
export function maskedBody(body: Uint8Array, secrets: readonly string[], isWhole: boolean): Uint8Array {
  // One character for each byte, so that all other bytes stay as they are.
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1');
  let result = masked(text, secrets);
  if (!isWhole) for (const secret of secrets) result = withoutBeginning(result, secret);
  return result === text ? body : new Uint8Array(Buffer.from(result, 'latin1').subarray(0, body.length));
}

function withoutBeginning(text: string, secret: string): string {
  const from = Math.max(0, text.length - secret.length + 1);
  const at = text.indexOf(secret.slice(0, secretLengthMin), from);
  return at === -1 ? text : text.slice(0, at);
}
