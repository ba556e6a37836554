import { isIP } from 'node:net';
import { isInCidr } from '../../base/cidr.ts';
import { isAddressAllowed, isPlainAllowed, loopbackRanges } from '../../network/address-guard.ts';
import type { NetworkPolicy } from '../../network/address-guard.ts';
import { isLocalhostName, withoutRootDot } from '../../network/local-name.ts';
import { endpointLimits } from './endpoint-limits.ts';

const { urlLengthMax } = endpointLimits;

/** The parser drops line ends, blanks and invisible characters, and reads a backslash as a slash: such a URL is a disguise or a mistake. */
const confusingCharacter = /[\\\p{Cc}\p{Cf}\p{Z}]/u;
/** The parser would also accept `https:example.com` and `https:///example.com`, and drop the sign of `https://@example.com`. */
const writtenInFull = /^https?:\/\/([^/?#]+)/i;

/**
 * Ports on which other protocols listen: SSH, SMTP, DNS, POP3, IMAP, MySQL, PostgreSQL, Redis, Elasticsearch, memcached and
 * MongoDB. Their servers could take lines of a webhook for commands, and a connection tells whether they are there.
 */
const portsOfOtherProtocols = [
  0, 22, 25, 53, 110, 143, 465, 587, 993, 995, 3306, 5432, 6379, 9200, 11211, 27017,
] as const;

/** Names that can only mean a machine nearby (RFC 6761, RFC 8375, and the names of clouds' metadata servers). */
const localSuffixes = ['.localhost', '.local', '.internal', '.home.arpa'];

/** The same words for every refused target: different ones would let a client map the operator's network. */
export const refusedTarget = 'This address is not allowed as a webhook target.';

export type EndpointUrlCheck =
  { readonly kind: 'accepted'; readonly url: string } | { readonly kind: 'refused'; readonly reason: string };

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
  if (url === null)
    return refuse('The URL could not be read: expected one like https://example.com/webhooks.');
  if (url.href.length > urlLengthMax)
    return refuse(`The URL must be at most ${urlLengthMax} characters long.`);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return refuse('The URL must begin with https://.');
  const authority = writtenInFull.exec(text)?.[1];
  if (authority === undefined)
    return refuse('The URL must be written in full, like https://example.com/webhooks.');
  if (authority.includes('@')) return refuse('The URL must not contain a user name or password.');
  // An empty fragment leaves `hash` empty but keeps its sign in `href`.
  if (url.href.includes('#')) return refuse('The URL must not contain a fragment (#).');
  const port = portOf(url);
  if (portsOfOtherProtocols.some((other) => other === port) && policy.allowedPorts?.includes(port) !== true)
    return refuse(`Port ${port} is that of another protocol, and not allowed as a webhook target.`);
  const host = hostOf(url);
  const reason = isIP(host) === 0 ? checkName(host, url, policy) : checkAddress(host, url, policy);
  return reason === null ? { kind: 'accepted', url: url.href } : refuse(reason);
}

/** The host without the brackets that URLs put around IPv6 addresses. */
export function hostOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

function checkAddress(host: string, url: URL, policy: NetworkPolicy): string | null {
  if (url.protocol === 'http:' && !isPlainAllowed(host, policy)) return 'The URL must begin with https://.';
  return isAddressAllowed(host, policy) ? null : refusedTarget;
}

function checkName(host: string, url: URL, policy: NetworkPolicy): string | null {
  // If the operator allows a private range, a name may lead into it; only its addresses can tell, at connect time.
  const isOpen = policy.allowed.length > 0;
  if (url.protocol === 'http:' && !policy.allowHttp && !isOpen) return 'The URL must begin with https://.';
  if (isLocalhostName(host)) return isLoopbackAllowed(policy) ? null : refusedTarget;
  const name = withoutRootDot(host).toLowerCase();
  const isLocal = !name.includes('.') || localSuffixes.some((suffix) => name.endsWith(suffix));
  return isLocal && !isOpen ? refusedTarget : null;
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
