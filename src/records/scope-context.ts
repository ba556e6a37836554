import type { ScopeContext } from '../collections/record-scope.ts';
import type { Instance } from '../instances/instance.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import type { Names } from '../storage/database.ts';

/** What a rule or a filter may know that is asked now. `names` are those of whoever is asked: the database, or a transaction. */
export function scopeContext(
  { collections, database, clock }: Instance,
  facts: RequestFacts,
  names: Names = database.names,
): ScopeContext {
  return { collections, names, facts, now: clock.now() };
}
