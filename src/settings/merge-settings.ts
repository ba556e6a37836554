import { isJsonObject, ownMember, type JsonObject } from '../base/json.ts';
import { ProblemList } from '../collections/problem-list.ts';
import { fieldError, type FieldErrorCode } from '../fields/field-error.ts';
import type { RateLimitRule, Settings } from './settings.ts';
import { settingsLimits } from './settings-limits.ts';

/**
 * Returns the current settings with the given ones merged over them: objects member by member, lists as a whole. Members that are
 * unknown (see `refuseUnknown`) or null change nothing. A value of the wrong type is left out and added to `problems`.
 */
export function mergeSettings(current: Settings, given: JsonObject, problems: ProblemList): Settings {
  // The cast holds: merging keeps the type of every member.
  return mergeMembers({ ...current }, given, problems) as unknown as Settings;
}

function mergeMembers(current: JsonObject, given: JsonObject, problems: ProblemList): JsonObject {
  const merged = Object.entries(current).map(([name, value]) => {
    const asked = ownMember(given, name) ?? undefined;
    return [name, asked === undefined ? value : mergeMember(value, asked, { name, problems })];
  });
  // The cast holds: the names are those of `current`.
  return Object.fromEntries(merged) as JsonObject;
}

interface Place {
  readonly name: string;
  readonly problems: ProblemList;
}

function mergeMember(value: unknown, asked: unknown, { name, problems }: Place): unknown {
  const refuse = (code: FieldErrorCode, params?: Readonly<Record<string, number>>): unknown => {
    problems.add(name, fieldError(code, params));
    return value;
  };
  if (isJsonObject(value)) {
    if (!isJsonObject(asked)) return refuse('validation_unsupported_value_type');
    const inside = new ProblemList();
    const merged = mergeMembers(value, asked, inside);
    problems.addAll(name, inside);
    return merged;
  }
  if (Array.isArray(value)) {
    if (!Array.isArray(asked)) return refuse('validation_unsupported_value_type');
    const { listLengthMax } = settingsLimits;
    if (asked.length > listLengthMax)
      return refuse('validation_length_too_long', { min: 0, max: listLengthMax });
    const inside = new ProblemList();
    const list = name === 'rules' ? readRules(asked, inside) : readTexts(asked, inside);
    problems.addAll(name, inside);
    return list;
  }
  if (typeof value !== typeof asked) return refuse('validation_unsupported_value_type');
  if (typeof asked === 'number' && !Number.isSafeInteger(asked))
    return refuse('validation_only_int_constraint');
  const max = settingsLimits.textLengthMax;
  if (typeof asked === 'string' && asked.length > max)
    return refuse('validation_length_out_of_range', { min: 0, max });
  return asked;
}

function readTexts(list: readonly unknown[], problems: ProblemList): readonly string[] {
  return list.flatMap((text, index) => {
    if (typeof text === 'string' && text.length <= settingsLimits.textLengthMax) return [text];
    problems.add(String(index), fieldError('validation_unsupported_value_type'));
    return [];
  });
}

export const blankRule: RateLimitRule = { label: '', audience: '', duration: 0, maxRequests: 0 };

function readRules(list: readonly unknown[], problems: ProblemList): readonly RateLimitRule[] {
  return list.map((raw, index) => {
    const inside = new ProblemList();
    if (!isJsonObject(raw)) problems.add(String(index), fieldError('validation_unsupported_value_type'));
    const merged = mergeMembers({ ...blankRule }, isJsonObject(raw) ? raw : {}, inside);
    problems.addAll(String(index), inside);
    // As in mergeSettings: every member has the type that it has in `blankRule`.
    return merged as unknown as RateLimitRule;
  });
}
