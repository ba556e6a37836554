import type { RateLimitRule } from '../settings/settings.ts';

export interface Asked {
  /** What the request can be called, the most particular first: `posts:create`, `*:create`, `POST /api/…`, `/api/…`. */
  readonly labels: readonly string[];
  readonly isGuest: boolean;
}

/**
 * The rule that limits a request: for each of its labels in turn the one with just this label, then the first whose label ends
 * with `/` and begins it.
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
