import type { Instance } from '../instances/instance.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { relationsOf } from './related-ids.ts';

/**
 * Whether a record of this collection, by name or id, is made by this caller without a question of the database: no rule is left to ask, no
 * account to compare with others, and no related record to find.
 */
export function asksNothing({ collections }: Instance, facts: RequestFacts, nameOrId: string): boolean {
  const collection = collections.find(nameOrId);
  if (collection === undefined || collection.auth !== undefined) return false;
  const isAdmitted = facts.caller.kind === 'superuser' || collection.rules.createRule === '';
  return isAdmitted && relationsOf(collection).length === 0;
}
