import type { Instance } from '../instances/instance.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import { relationsOf } from './related-ids.ts';

/**
 * True when this caller can create a record of this collection (name or id) without a query before the INSERT: no rule is left to
 * ask, there is no account to compare with others, and no related record to find.
 */
export function asksNothing({ collections }: Instance, facts: RequestFacts, nameOrId: string): boolean {
  const collection = collections.find(nameOrId);
  if (collection === undefined || collection.auth !== undefined) return false;
  const isAdmitted = facts.caller.kind === 'superuser' || collection.rules.createRule === '';
  return isAdmitted && relationsOf(collection).length === 0;
}
