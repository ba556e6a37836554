import { AppError } from '../base/errors.ts';
import type { FilterTree } from '../filters/tree.ts';
import type { Caller } from './caller.ts';
import { parseRule } from './parse-rule.ts';

/** A rule as a collection holds it: null admits superusers only, '' admits everyone, any other text is a filter. */
export type Rule = string | null;

/**
 * What a rule still has to ask of each record, or undefined where it admits the caller to all of them. Superusers pass every
 * rule. Throws `forbidden` where it admits the caller to none.
 */
export function admit(rule: Rule, caller: Caller): FilterTree | undefined {
  if (caller.kind === 'superuser' || rule === '') return undefined;
  if (rule !== null) return parseRule(rule);
  throw new AppError('forbidden', 'Only superusers can perform this action.');
}
