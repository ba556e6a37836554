import { AppError } from '../base/errors.ts';
import type { FilterTree } from '../filters/tree.ts';
import type { Caller } from './caller.ts';
import { parseRule } from './parse-rule.ts';
import { reaches, requireReach, type Reached } from './reaches.ts';

/** A rule as a collection holds it: null admits superusers only, '' admits everyone, any other text is a filter. */
export type Rule = string | null;

/** The part of a collection that its rules need. */
export interface Ruled extends Reached {
  readonly rules: Readonly<Record<RuleName, Rule>>;
}

export type RuleName = 'listRule' | 'viewRule' | 'createRule' | 'updateRule' | 'deleteRule';

/**
 * Returns what the rule still has to ask of each record, or undefined where the caller is admitted to all of them. Superusers
 * pass every rule, API keys those of the collections that they reach. Throws `forbidden` where the caller is admitted to no
 * record.
 */
export function admit(collection: Ruled, name: RuleName, caller: Caller): FilterTree | undefined {
  const rule = collection.rules[name];
  if (caller.kind === 'superuser') {
    requireReach(caller, collection);
    return undefined;
  }
  if (rule === '') return undefined;
  if (rule !== null) return parseRule(rule);
  throw new AppError('forbidden', 'Only superusers can perform this action.');
}

/** Whether none of these rules admits the caller to any record. */
export function isLocked(collection: Ruled, names: readonly RuleName[], caller: Caller): boolean {
  if (caller.kind === 'superuser') return !reaches(caller, collection);
  return names.every((name) => collection.rules[name] === null);
}
