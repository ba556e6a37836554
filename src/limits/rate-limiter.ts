import { AppError } from '../base/errors.ts';
import type { RateLimitRule } from '../settings/settings.ts';
import { clientKey } from './client-key.ts';
import { findRule, type Asked } from './find-rule.ts';
import { secondsUntil } from './seconds-until.ts';
import { WindowCounter } from './window-counter.ts';

/**
 * How often clients may ask. All of it is in the memory of this process, and bounded.
 *
 *   rate-limiter     the rules of the settings, off until superusers switch them on
 *   find-rule        which rule a request comes under
 *   sign-in-guard    wrong passwords: always on, whatever the settings say
 *   window-counter   counts in fixed windows
 *   client-key       who is counted as one
 *
 * The time is given with each question, so that nothing here has a timer.
 */
export class RateLimiter {
  readonly #counter = new WindowCounter(keysMax);

  /** Counts a request under its rule; undefined where no rule says anything of it. */
  count(rules: readonly RateLimitRule[], request: LimitedRequest): Quota | undefined {
    const rule = findRule(rules, request);
    if (rule === undefined) return undefined;
    const { duration, maxRequests: max } = rule;
    const policy = `${rule.label}${rule.audience}`;
    const key = [request.instanceId, policy, max, duration, clientKey(request.address)].join('|');
    const { nowMs } = request;
    const window = this.#counter.take(key, { max, durationMs: duration * 1_000, nowMs });
    const resetSeconds = secondsUntil(window.endMs, nowMs);
    const isExceeded = !window.isAllowed;
    return { policy, max, windowSeconds: duration, remaining: max - window.used, resetSeconds, isExceeded };
  }
}

/** Clients and rules together; about 200 bytes each. */
const keysMax = 100_000;

export interface LimitedRequest extends Asked {
  readonly instanceId: string;
  readonly address: Uint8Array;
  readonly nowMs: number;
}

/** What a client may still ask under a rule. */
export interface Quota {
  /** Names the rule: its label, with its audience. */
  readonly policy: string;
  readonly max: number;
  readonly windowSeconds: number;
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
