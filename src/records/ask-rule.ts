import type { Collection } from '../collections/collection.ts';
import { baseAlias, type ScopeContext } from '../collections/record-scope.ts';
import { fieldColumn, type Field } from '../fields/field.ts';
import type { StoredValue } from '../fields/field-type.ts';
import type { FilterTree } from '../filters/tree.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Engine, Names, Transaction } from '../storage/database.ts';
import { readStatements } from './read-statements.ts';
import { ruleCondition } from './rule-condition.ts';

/** The rule that `admit` left to be asked, if any, and what it may know. */
export interface AskedRule {
  readonly rule: FilterTree | undefined;
  readonly context: ScopeContext;
}

/** Whether the rule is true of the record as it is stored now, in this transaction. */
export async function isAllowed(
  tx: Transaction,
  { collection, id }: { readonly collection: Collection; readonly id: string },
  asked: AskedRule,
): Promise<boolean> {
  if (asked.rule === undefined) return true;
  const row = storedRow(collection, id, tx.names);
  return isTrueOf(tx, row, ruleCondition(asked.context, collection, asked.rule));
}

/** Returns what follows FROM to read one stored record. It ends in a condition, behind which `AND` may follow. */
export function storedRow(collection: Collection, id: string, names: Names): Sql {
  const { from } = readStatements(collection, names);
  return sql`${from} WHERE ${baseAlias}.id = ${id}`;
}

/**
 * Whether the rule would be true of a record with these values. They need not be valid: what is wrong with them is told only to
 * callers whom the rule admits.
 */
export async function wouldBeAllowed(
  tx: Transaction,
  { collection, values }: { readonly collection: Collection; readonly values: readonly StoredValue[] },
  asked: AskedRule,
): Promise<boolean> {
  if (asked.rule === undefined) return true;
  const row = givenRow(collection, values, tx.names);
  return isTrueOf(tx, row, ruleCondition(asked.context, collection, asked.rule));
}

/** As {@link storedRow}, for values that are not stored. */
export function givenRow(collection: Collection, values: readonly StoredValue[], names: Names): Sql {
  const columns = collection.fields.map(
    (field, index) =>
      sql`${typed(values[index] ?? null, field, names.engine)} AS ${names.column(field.name)}`,
  );
  return sql`(SELECT ${joinSql(columns, ', ')}) AS ${baseAlias} WHERE TRUE`;
}

/** Returns the value with the type that it would have in the field's column. */
function typed(value: StoredValue, field: Field, engine: Engine): Sql {
  const kind = fieldColumn(field);
  if (kind === 'number')
    return engine === 'sqlite' ? sql`CAST(${value} AS REAL)` : sql`CAST(${value} AS double precision)`;
  if (kind === 'bool') return sql`CAST(${value} AS INTEGER)`;
  return engine === 'sqlite' ? sql`CAST(${value} AS TEXT)` : sql`CAST(${value} AS text) COLLATE "C"`;
}

/** Whether the row meets the rule's condition, which is appended to the row's own. */
async function isTrueOf(tx: Transaction, row: Sql, condition: Sql): Promise<boolean> {
  const rows = await tx.search(sql`SELECT 1 FROM ${row} AND ${condition}`, { isNarrow: true });
  return rows.length > 0;
}
