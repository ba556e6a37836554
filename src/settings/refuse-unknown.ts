import { isJsonObject, type JsonObject } from '../base/json.ts';
import { ProblemList } from '../collections/problem-list.ts';
import { unknownMembers } from '../fields/field-error.ts';
import { blankRule } from './merge-settings.ts';
import { settingsLimits } from './settings-limits.ts';
import { defaultSettings } from './settings.ts';

/** Adds each member of a change that settings do not have to `problems`, at its place. */
export function refuseUnknown(given: JsonObject, problems: ProblemList): void {
  refuseIn(given, { ...defaultSettings }, problems);
}

function refuseIn(given: JsonObject, known: Readonly<Record<string, unknown>>, problems: ProblemList): void {
  for (const [name, problem] of Object.entries(unknownMembers(given, Object.keys(known))))
    problems.add(name, problem);
  for (const [name, like] of Object.entries(known)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
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
