import { isJsonObject, type JsonObject } from '../base/json.ts';
import { ProblemList } from '../collections/member-reader.ts';
import { unknownMembers } from '../fields/field-error.ts';
import type { Database, Transaction } from '../storage/database.ts';
import { checkSettings, isConflicting } from './check-settings.ts';
import { blankRule, mergeSettings, type SettingsStore } from './settings-store.ts';
import {
  defaultSettings,
  isInRanges,
  type RateLimitRule,
  type Settings,
  settingsLimits,
} from './settings.ts';

export interface SettingsChange {
  readonly database: Database;
  readonly settings: SettingsStore;
  /** Runs inside the transaction of the change. May await nothing but `tx`. */
  readonly onChange: (tx: Transaction, before: Settings, after: Settings) => Promise<void>;
}

/**
 * Merges `patch` over the stored settings, whichever node stored them. Throws bad_request with each problem at its place,
 * and then changes nothing. `from` returns the caller's address under the new settings: no superuser may shut themselves out.
 */
export function changeSettings(
  { database, settings, onChange }: SettingsChange,
  patch: JsonObject,
  from: (changed: Settings) => Uint8Array,
): Promise<Settings> {
  return database.write(
    async (tx) => {
      const problems = new ProblemList();
      const before = await settings.read(tx);
      refuseUnknown(patch, problems);
      const changed = mergeSettings(before, patch, problems);
      // Members of the wrong type were left out, so the whole can be checked only when there are none.
      if (problems.isEmpty) checkSettings(changed, problems);
      const { superuserIPs } = changed;
      if (problems.isEmpty && superuserIPs.length > 0 && !isInRanges(from(changed), superuserIPs))
        problems.add('superuserIPs', {
          code: 'validation_in_invalid',
          message: 'Must include your own address.',
        });
      problems.throwIfAny('An error occurred while saving the new settings.');
      await settings.save(tx, changed);
      await onChange(tx, before, changed);
      return changed;
    },
    // Other nodes reload settings only after commits of exclusive writes.
    { isExclusive: true },
  );
}

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

/** Adds each member of a change that settings do not have to `problems`, at its place. */
function refuseUnknown(patch: JsonObject, problems: ProblemList): void {
  refuseIn(patch, { ...defaultSettings }, problems);
}

function refuseIn(
  patch: JsonObject,
  defaults: Readonly<Record<string, unknown>>,
  problems: ProblemList,
): void {
  for (const [name, problem] of Object.entries(unknownMembers(patch, Object.keys(defaults))))
    problems.add(name, problem);
  for (const [name, like] of Object.entries(defaults)) {
    const value = Object.hasOwn(patch, name) ? patch[name] : undefined;
    const inside = new ProblemList();
    if (isJsonObject(value) && isJsonObject(like)) refuseIn(value, like, inside);
    if (name === 'rules' && Array.isArray(value)) refuseInRules(value, inside);
    problems.addAll(name, inside);
  }
}

function refuseInRules(rules: readonly unknown[], problems: ProblemList): void {
  for (const [index, rule] of rules.slice(0, settingsLimits.listLengthMax).entries()) {
    const inside = new ProblemList();
    if (isJsonObject(rule)) refuseIn(rule, { ...blankRule }, inside);
    problems.addAll(String(index), inside);
  }
}
