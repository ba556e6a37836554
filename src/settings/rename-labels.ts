import type { Transaction } from '../storage/database.ts';
import { isConflicting } from './is-conflicting.ts';
import type { RateLimitRule, Settings } from './settings.ts';
import type { SettingsStore } from './settings-store.ts';

/**
 * Lets the rate limits of collections follow them to their new names, in the transaction that gives them these. Gives the settings
 * before and after, or undefined where no rule names one of them.
 */
export async function renameLabels(
  tx: Transaction,
  settings: SettingsStore,
  names: ReadonlyMap<string, string>,
): Promise<{ readonly before: Settings; readonly after: Settings } | undefined> {
  const before = await settings.read(tx);
  const rules = renamed(before.rateLimits.rules, names);
  if (rules === undefined) return undefined;
  const after = { ...before, rateLimits: { ...before.rateLimits, rules } };
  await settings.save(tx, after);
  return { before, after };
}

/** All at once, as names may be exchanged. */
function renamed(
  rules: readonly RateLimitRule[],
  names: ReadonlyMap<string, string>,
): readonly RateLimitRule[] | undefined {
  const followed = rules.map((rule) => ({ ...rule, label: renamedLabel(rule.label, names) }));
  const moved = followed.filter(({ label }, at) => label !== rules[at]?.label);
  if (moved.length === 0) return undefined;
  // What had the name before was a rule of no collection: it limited nothing, and would now hide one that did.
  return followed.filter((rule) => moved.every((other) => other === rule || !isConflicting(rule, other)));
}

/** `posts:create`; labels of other forms name no collection. */
function renamedLabel(label: string, names: ReadonlyMap<string, string>): string {
  const end = label.indexOf(':');
  const name = end === -1 ? undefined : names.get(label.slice(0, end));
  return name === undefined ? label : name + label.slice(end);
}
