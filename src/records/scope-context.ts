import type { ScopeContext } from '../collections/record-scope.ts';
import type { Instance } from '../instances/instance.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import type { Names } from '../storage/database.ts';

/** Returns what a rule or filter that is asked now may know. `names` are those of the reader that runs it: the database or a transaction. */
export function scopeContext(
  { collections, database, clock }: Instance,
  facts: RequestFacts,
  names: Names = database.names,
): ScopeContext {
  return { collections, names, facts, now: clock.now() };
}
