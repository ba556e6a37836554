import { isIP } from 'node:net';
import type { FieldError } from '../base/errors.ts';
import { isInCidr, readIpAddress } from '../base/ip-address.ts';
import { isJsonObject } from '../base/json.ts';
import { invalidValue } from '../fields/field-error.ts';
import type { DecodedValue } from '../fields/field-type.ts';
import {
  isAddressAllowed,
  isLocalhostName,
  isPlainAllowed,
  loopbackRanges,
  type NetworkPolicy,
  withoutRootDot,
} from '../network/address-guard.ts';

export const headersMax = 50;
const headerValueLengthMax = 4_096;
const urlLengthMax = 2_048;

/** The characters of a header name (RFC 9110 section 5.6.2). */
const NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
/** Printable ASCII with spaces inside: every server understands it, and it cannot end the header line. */
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

const RESERVED =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-.*|accept-encoding|user-agent|traceparent|tracestate|webhook-.*|x-service-.*)$/i;

/** True for headers of the connection (RFC 9110 section 7.6.1), of the body or of the signature, which the service sets itself. */
export function isReservedHeader(name: string): boolean {
  return RESERVED.test(name);
}

/** Replaces a secret value in responses; when a client sends it back, the stored value stays. */
export const maskedValue = '********';

/** True for lower-case names whose values are never shown after they were set. */
export function isSecretHeader(name: string): boolean {
  return /auth|cookie|token|secret|key|password|signature/.test(name);
}

/** Returns headers as in API responses: values of secret-looking ones are masked. */
export function maskHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const show = (name: string, value: string): string => (isSecretHeader(name) ? maskedValue : value);
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, show(name, value)] as const),
  );
}

/** Returns the validated headers with their names in lower case, or the problem of each, by name. */
export function decodeHeaders(
  raw: unknown,
  existing: Readonly<Record<string, string>>,
): DecodedValue<Readonly<Record<string, string>>> {
  if (!isJsonObject(raw)) return { error: invalidValue('Must be an object.') };
  const entries = Object.entries(raw);
  if (entries.length > headersMax) return { error: invalidValue(`Must be at most ${headersMax} headers.`) };
  const headers = new Map<string, string>();
  const errors: Record<string, FieldError> = {};
  for (const [written, value] of entries) {
    const name = written.toLowerCase();
    const actual: unknown = value === maskedValue ? existing[name] : value;
    const problem = headerProblem(name, actual);
    if (problem !== undefined) errors[written] = invalidValue(problem);
    else if (typeof actual === 'string') headers.set(name, actual);
  }
  return Object.keys(errors).length > 0 ? { error: errors } : { value: Object.fromEntries(headers) };
}

function headerProblem(name: string, value: unknown): string | undefined {
  if (!NAME.test(name)) return 'Must be a header name.';
  if (isReservedHeader(name)) return 'This header is set by the service itself.';
  if (typeof value !== 'string' || value.length > headerValueLengthMax || !VALUE.test(value)) {
    return `Must be printable ASCII text of at most ${headerValueLengthMax} characters.`;
  }
  return undefined;
}

/** The parser drops line ends, blanks and invisible characters, and reads a backslash as a slash: such a URL is a disguise or a mistake. */
const confusingCharacter = /[\\\p{Cc}\p{Cf}\p{Z}]/u;
/** The parser would also accept `https:example.com` and `https:///example.com`, and drop the sign of `https://@example.com`. */
const writtenInFull = /^https?:\/\/([^/?#]+)/i;

/**
 * Ports on which other protocols listen: SSH, SMTP, DNS, POP3, IMAP, MySQL, PostgreSQL, Redis, Elasticsearch, memcached and
 * MongoDB. Their servers could interpret lines of a webhook as commands, and a connection shows whether they exist.
 */
const portsOfOtherProtocols = [
  0, 22, 25, 53, 110, 143, 465, 587, 993, 995, 3306, 5432, 6379, 9200, 11211, 27017,
] as const;

/** Names that can only mean a machine nearby (RFC 6761, RFC 8375, and the names of clouds' metadata servers). */
const localSuffixes = ['.localhost', '.local', '.internal', '.home.arpa'];

/** The same message for every rejected target: different ones would let a client map the operator's network. */
export const refusedTarget = 'This address is not allowed as a webhook target.';

const notHttps = 'The URL must begin with https://.';

export type EndpointUrlCheck =
  { readonly kind: 'accepted'; readonly url: string } | ({ readonly kind: 'refused' } & Refusal);

interface Refusal {
  readonly reason: string;
  /** Which flag of the server would allow it, in a sentence for the operator. It follows from the URL alone. */
  readonly remedy?: string;
}

/**
 * Checks whether an endpoint may have this URL. `url` is the canonical form, to be stored and connected to: the parser has turned
 * every disguise of an address (`0x7f.1`, `①②⑦.1`) into the address itself. A name that passes here is checked again by its
 * addresses at each connect.
 */
export function checkEndpointUrl(text: string, policy: NetworkPolicy): EndpointUrlCheck {
  if (text.length > urlLengthMax) return refuse(`The URL must be at most ${urlLengthMax} characters long.`);
  if (confusingCharacter.test(text))
    return refuse('The URL must not contain blanks, backslashes, control characters or invisible ones.');
  const url = URL.parse(text);
  if (url === null) return refuse(`The URL is invalid: expected one like ${exampleUrl(policy)}.`);
  if (url.href.length > urlLengthMax)
    return refuse(`The URL must be at most ${urlLengthMax} characters long.`);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return refuse(policy.allowHttp ? 'The URL must begin with https:// or http://.' : notHttps);
  const authority = writtenInFull.exec(text)?.[1];
  if (authority === undefined) return refuse(`The URL must be written in full, like ${exampleUrl(policy)}.`);
  if (authority.includes('@')) return refuse('The URL must not contain a user name or password.');
  // An empty fragment leaves `hash` empty but keeps its sign in `href`.
  if (url.href.includes('#')) return refuse('The URL must not contain a fragment (#).');
  const port = portOf(url);
  if (portsOfOtherProtocols.some((other) => other === port) && policy.allowedPorts?.includes(port) !== true)
    return {
      kind: 'refused',
      reason: `Port ${port} is that of another protocol, and not allowed as a webhook target.`,
      ...(port !== 0 && { remedy: `The server allows it with --allow-ports ${port}.` }),
    };
  const host = hostOf(url);
  const refusal = isIP(host) === 0 ? checkName(host, url, policy) : checkAddress(host, url, policy);
  return refusal === null ? { kind: 'accepted', url: url.href } : { kind: 'refused', ...refusal };
}

/** One that would be accepted. */
function exampleUrl({ allowHttp }: NetworkPolicy): string {
  return allowHttp ? 'http://localhost:3000/webhooks' : 'https://example.com/webhooks';
}

/** The host without the brackets that URLs put around IPv6 addresses. */
export function hostOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

function checkAddress(host: string, url: URL, policy: NetworkPolicy): Refusal | null {
  const remedy = `The server allows it with --allow-net ${host}${isLoopback(host) ? ', or with --dev' : ''}.`;
  if (url.protocol === 'http:' && !isPlainAllowed(host, policy)) return { reason: notHttps, remedy };
  return isAddressAllowed(host, policy) ? null : { reason: refusedTarget, remedy };
}

function isLoopback(address: string): boolean {
  const bytes = readIpAddress(address);
  return bytes !== undefined && loopbackRanges.some((range) => isInCidr(bytes, range));
}

function checkName(host: string, url: URL, policy: NetworkPolicy): Refusal | null {
  // If the operator allows a private range, a name may lead into it; only its addresses can tell, at connect time.
  const isOpen = policy.allowed.length > 0;
  const isHere = isLocalhostName(host);
  const isPlain = url.protocol === 'http:' && !policy.allowHttp && !isOpen;
  const remedy = isHere
    ? 'The server allows it with --dev, or with --allow-net 127.0.0.1.'
    : `The server allows it with ${isPlain ? '--dev, or with ' : ''}--allow-net and the network that the name leads to.`;
  if (isPlain) return { reason: notHttps, remedy };
  if (isHere) return isLoopbackAllowed(policy) ? null : { reason: refusedTarget, remedy };
  const name = withoutRootDot(host).toLowerCase();
  const isLocal = !name.includes('.') || localSuffixes.some((suffix) => name.endsWith(suffix));
  return isLocal && !isOpen ? { reason: refusedTarget, remedy } : null;
}

function isLoopbackAllowed(policy: NetworkPolicy): boolean {
  return loopbackRanges.some((loopback) =>
    policy.allowed.some(
      (range) =>
        isInCidr(Uint8Array.from(loopback.address), range) ||
        isInCidr(Uint8Array.from(range.address), loopback),
    ),
  );
}

function refuse(reason: string): EndpointUrlCheck {
  return { kind: 'refused', reason };
}
