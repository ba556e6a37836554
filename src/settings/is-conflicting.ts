import type { RateLimitRule } from './settings.ts';

/** Of one label a rule for everybody leaves nothing to others. */
export function isConflicting(one: RateLimitRule, other: RateLimitRule): boolean {
  return (
    one.label === other.label &&
    (one.audience === other.audience || one.audience === '' || other.audience === '')
  );
}
