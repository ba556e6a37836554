import type { RateLimitRule } from './settings.ts';

/** True when two rules have the same label and overlapping audiences: a rule for everybody overlaps every other. */
export function isConflicting(one: RateLimitRule, other: RateLimitRule): boolean {
  return (
    one.label === other.label &&
    (one.audience === other.audience || one.audience === '' || other.audience === '')
  );
}
