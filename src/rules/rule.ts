import { AppError } from '../base/errors.ts';
import type { FilterTree } from '../filters/tree.ts';
import type { Caller } from './caller.ts';
import { parseRule } from './parse-rule.ts';
import { reaches, requireReach, type Reached } from './reaches.ts';

/** A rule as a collection holds it: null admits superusers only, '' admits everyone, any other text is a filter. */
export type Rule = string | null;

/** A collection, as far as its rules go. */
export interface Ruled extends Reached {
  readonly rules: Readonly<Record<RuleName, Rule>>;
}

export type RuleName = 'listRule' | 'viewRule' | 'createRule' | 'updateRule' | 'deleteRule';

/**
 * What a collection's rule still has to ask of each record, or undefined where it admits the caller to all of them. Superusers pass
 * every rule, API keys those of the collections that they reach. Throws `forbidden` where the caller is admitted to none.
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

/** Whether all of these admit the caller to nothing. */
export function isLocked(collection: Ruled, names: readonly RuleName[], caller: Caller): boolean {
  if (caller.kind === 'superuser') return !reaches(caller, collection);
  return names.every((name) => collection.rules[name] === null);
}
