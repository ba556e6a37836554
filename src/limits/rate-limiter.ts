import { AppError } from '../base/errors.ts';
import type { RateLimitRule } from '../settings/settings.ts';
import { clientKey } from './client-key.ts';
import { countingOf, type CountedInstance } from './counting-of.ts';
import { findRule, type Asked } from './find-rule.ts';
import { secondsUntil } from './seconds-until.ts';
import { SharedCounter } from './shared-counter.ts';
import type { Window } from './window-counter.ts';

/**
 * How often clients may ask. All of it is bounded, in the memory of this process and where several nodes count together.
 *
 *   rate-limiter     the rules of the settings, off until superusers switch them on
 *   find-rule        which rule a request comes under
 *   sign-in-guard    wrong passwords: always on, whatever the settings say
 *   count-try        what counts unless it turns out to be right
 *   shared-counter   counts in fixed windows, with other nodes where there are any
 *   window-counter   counts in the windows of this process
 *   window-store     what a counter asks of all nodes; postgres-window-store answers, sweep-windows clears away
 *   client-key       who is counted as one
 */
export class RateLimiter {
  readonly #counter = new SharedCounter({ kind: 'rate', keysMax, isFinal: true });

  /** Counts a request under its rule; undefined where no rule says anything of it. A promise only where other nodes have to be asked. */
  count(rules: readonly RateLimitRule[], request: LimitedRequest): Quota | Promise<Quota> | undefined {
    const rule = findRule(rules, request);
    if (rule === undefined) return undefined;
    const { duration, maxRequests: max } = rule;
    const policy = `${rule.label}${rule.audience}`;
    const { instance, address } = request;
    const key = [instance.id, policy, max, duration, clientKey(address)].join('|');
    const { nowMs, store } = countingOf(instance);
    const limit = {
      max,
      durationMs: duration * 1_000,
      nowMs,
      store: duration < sharedSecondsMin ? undefined : store,
    };
    const toQuota = ({ isAllowed, used, endMs }: Window): Quota => ({
      policy,
      max,
      windowSeconds: duration,
      remaining: max - used,
      resetSeconds: secondsUntil(endMs, nowMs),
      isExceeded: !isAllowed,
    });
    const window = this.#counter.take(key, limit);
    return window instanceof Promise ? window.then(toQuota) : toQuota(window);
  }
}

/** In shorter windows each node counts for itself: nearly every request would have to ask, and what clocks differ by would count. */
const sharedSecondsMin = 10;

/** Clients and rules together; about 200 bytes each. */
const keysMax = 100_000;

export interface LimitedRequest extends Asked {
  readonly instance: CountedInstance;
  readonly address: Uint8Array;
}

/** What a client may still ask under a rule. */
export interface Quota {
  /** Names the rule: its label, with its audience. */
  readonly policy: string;
  readonly max: number;
  readonly windowSeconds: number;
  /** As far as this node knows: of others it hears when it asks. */
  readonly remaining: number;
  readonly resetSeconds: number;
  readonly isExceeded: boolean;
}

/** The answer to whoever asks too often, after which he may ask again. */
export function tooManyRequests(retryAfter: number): AppError {
  return new AppError('too_many_requests', 'Too Many Requests.', { retryAfter });
}

/** `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10). A label holds nothing that a quoted string must escape. */
export function rateLimitHeaders(quota: Quota): Readonly<Record<string, string>> {
  return {
    ratelimit: `"${quota.policy}";r=${quota.remaining};t=${quota.resetSeconds}`,
    'ratelimit-policy': `"${quota.policy}";q=${quota.max};w=${quota.windowSeconds}`,
  };
}
