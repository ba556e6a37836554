import type { RateLimitRule } from '../settings/settings.ts';

export interface Asked {
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
  { labels, isGuest }: Asked,
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
