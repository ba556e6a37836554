import type { RateLimitRule } from '../settings/settings.ts';
import { type Count, type CountedInstance, SharedCounter } from './shared-counter.ts';

/**
 * How often clients may send requests. All counts are bounded, in this process's memory and in the table that several nodes share.
 *
 *   rate-limiter         the rules of the settings, off until superusers switch them on, and which one applies to a request
 *   sign-in-guard        wrong passwords: always on, regardless of the settings. Counts a try and refunds it if it was right
 *   mail-request-guard   mails of accounts: always on
 *   shared-counter       counts in fixed windows, together with other nodes if there are any
 *   window-counter       counts in the windows of this process
 *   window-store         counts in the windows that all nodes share, on PostgreSQL, and deletes those that are over
 */
export class RateLimiter {
  readonly #counter = new SharedCounter({ kind: 'rate', keysMax, isFinal: true });

  /** Counts a request under its rule; undefined when no rule applies. A promise only where the shared windows have to be read. */
  count(rules: readonly RateLimitRule[], request: LimitedRequest): Quota | Promise<Quota> | undefined {
    const rule = findRule(rules, request);
    if (rule === undefined) return undefined;
    const { duration, maxRequests: max } = rule;
    const policy = `${rule.label}${rule.audience}`;
    const key = [policy, max, duration, clientKey(request.address)].join('|');
    const toQuota = ({ isAllowed, used, resetSeconds }: Count): Quota => ({
      policy,
      max,
      windowSeconds: duration,
      remaining: max - used,
      resetSeconds,
      isExceeded: !isAllowed,
    });
    const count = this.#counter.take(request.instance, key, { max, durationMs: duration * 1_000 });
    return count instanceof Promise ? count.then(toQuota) : toQuota(count);
  }
}

/** Pairs of a client and a rule; about 200 bytes each. */
const keysMax = 100_000;

export interface LimitedRequest extends RequestLabels {
  readonly instance: CountedInstance;
  readonly address: Uint8Array;
}

/** The remaining requests of a client under a rule. */
export interface Quota {
  /** The name of the rule: its label and its audience. */
  readonly policy: string;
  readonly max: number;
  readonly windowSeconds: number;
  readonly remaining: number;
  readonly resetSeconds: number;
  readonly isExceeded: boolean;
}

/** `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10). A label never needs escaping in a quoted string. */
export function rateLimitHeaders(quota: Quota): Readonly<Record<string, string>> {
  return {
    ratelimit: `"${quota.policy}";r=${quota.remaining};t=${quota.resetSeconds}`,
    'ratelimit-policy': `"${quota.policy}";q=${quota.max};w=${quota.windowSeconds}`,
  };
}

interface RequestLabels {
  /** The names of the request, the most specific first: `posts:create`, `*:create`, `POST /api/…`, `/api/…`. */
  readonly labels: readonly string[];
  readonly isGuest: boolean;
}

/**
 * Finds the rule that limits a request. Of the rules for its audience it takes, for each label of the request in turn, the one with
 * exactly this label, or else the first whose label ends with `/` and is a prefix of it.
 */
export function findRule(
  rules: readonly RateLimitRule[],
  { labels, isGuest }: RequestLabels,
): RateLimitRule | undefined {
  const audience = isGuest ? '@guest' : '@auth';
  const fitting = rules.filter((rule) => rule.audience === '' || rule.audience === audience);
  for (const label of labels) {
    const exact = fitting.find((rule) => rule.label === label);
    if (exact !== undefined) return exact;
    const prefix = fitting.find((rule) => rule.label.endsWith('/') && `${label}/`.startsWith(rule.label));
    if (prefix !== undefined) return prefix;
  }
  return undefined;
}

/** The bytes of an IPv6 network prefix: a network has at least these 64 bits, and its owner has all of its addresses. */
const networkBytes = 8;

/** Returns the key by which clients are counted: an IPv4 address, or an IPv6 network of 64 bits. */
export function clientKey(address: Uint8Array): string {
  return Buffer.from(address.length === 4 ? address : address.subarray(0, networkBytes)).toString('hex');
}
