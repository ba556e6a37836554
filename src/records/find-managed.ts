import type { Collection } from '../collections/collection.ts';
import { baseAlias, type ScopeContext } from '../collections/record-scope.ts';
import { parseRule } from '../rules/parse-rule.ts';
import { sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';
import { readStatements } from './read-statements.ts';
import { ruleCondition } from './rule-condition.ts';

/** Returns which of these accounts the caller may manage. The manage rule never admits guests; null admits nobody. */
export async function findManaged(
  reader: Reader,
  { collection, ids }: { readonly collection: Collection; readonly ids: readonly string[] },
  context: ScopeContext,
): Promise<ReadonlySet<string>> {
  const manageRule = collection.auth?.manageRule ?? null;
  if (manageRule === null || context.facts.caller.kind === 'guest') return new Set();
  const condition = ruleCondition(context, collection, parseRule(manageRule));
  const { from } = readStatements(collection, reader.names);
  const managed = sql`
    SELECT ${baseAlias}.id FROM ${from}
    WHERE ${baseAlias}.id${reader.names.anyOf([...new Set(ids)])} AND ${condition}`;
  const rows = await reader.search(managed, { isNarrow: true });
  return new Set(rows.map(([id]) => String(id)));
}
