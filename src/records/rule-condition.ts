import { assert } from '../base/assert.ts';
import type { Collection } from '../collections/collection.ts';
import { RecordScope, baseAlias, type ScopeContext } from '../collections/record-scope.ts';
import type { FilterTree } from '../filters/tree.ts';
import type { Sql } from '../sql/sql.ts';

/** Returns the condition that a rule puts on a collection's table, which is `baseAlias` in the statement. Throws broken_rule. */
export function ruleCondition(context: ScopeContext, collection: Collection, rule: FilterTree): Sql {
  const scope = new RecordScope(context, { collection, alias: baseAlias });
  scope.addRule(rule);
  const { condition } = scope;
  // Without a condition every record would pass.
  assert(condition !== undefined, 'a rule asks something');
  return condition;
}
