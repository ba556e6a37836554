import type { Transaction } from '../storage/database.ts';
import { isConflicting } from './is-conflicting.ts';
import type { RateLimitRule, Settings } from './settings.ts';
import type { SettingsStore } from './settings-store.ts';

/**
 * Renames collections in the labels of rate limit rules, in the transaction that renames the collections. Returns the settings before
 * and after, or undefined when no rule names any of them.
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

/** Renames all labels at once, because two collections may swap names. */
function renamed(
  rules: readonly RateLimitRule[],
  names: ReadonlyMap<string, string>,
): readonly RateLimitRule[] | undefined {
  const followed = rules.map((rule) => ({ ...rule, label: renamedLabel(rule.label, names) }));
  const moved = followed.filter(({ label }, at) => label !== rules[at]?.label);
  if (moved.length === 0) return undefined;
  // A rule that already had a new label named no collection: it limited nothing, and would now conflict with a rule that does.
  return followed.filter((rule) => moved.every((other) => other === rule || !isConflicting(rule, other)));
}

/** Renames the collection in a label like `posts:create`. Labels of other forms name no collection. */
function renamedLabel(label: string, names: ReadonlyMap<string, string>): string {
  const end = label.indexOf(':');
  const name = end === -1 ? undefined : names.get(label.slice(0, end));
  return name === undefined ? label : name + label.slice(end);
}
