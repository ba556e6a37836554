import { AppError } from '../base/errors.ts';
import type { Caller } from './caller.ts';

/** A rule as a collection holds it: null admits superusers only, '' admits everyone. */
export type Rule = string | null;

/** Throws `forbidden` unless the rule admits the caller. Superusers pass every rule. */
export function admit(rule: Rule, caller: Caller): void {
  if (caller.kind === 'superuser' || rule === '') return;
  throw new AppError('forbidden', 'Only superusers can perform this action.');
}
