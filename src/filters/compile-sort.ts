import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Dialect } from './dialect.ts';
import { quote, sortError } from './filter-error.ts';
import { macroValue } from './macro-value.ts';
import type { Operand, Resolve } from './operand.ts';
import type { SortKey } from './parse-sort.ts';
import { explainUnknown } from './resolve-term.ts';

export interface SortContext {
  readonly resolve: Resolve;
  readonly dialect: Dialect;
  /** The hidden position: what `@rowid` means and what every order ends with, so that no two rows are equal (http-api A18). */
  readonly tieBreaker: Operand;
}

/**
 * What stands behind ORDER BY. The tie-breaker goes the way of the last key: the newest of the same millisecond come first
 * when the newest come first, and an index on (created, position) serves both directions. Throws a sort error.
 */
export function compileSort(keys: readonly SortKey[], context: SortContext): Sql {
  const { dialect, tieBreaker } = context;
  const terms: Sql[] = [];
  const seen = new Set<string>();
  let isDescending = false;
  for (const key of keys) {
    if (seen.has(key.name)) continue;
    seen.add(key.name);
    // Nothing is equal behind it.
    if (key.name === '@rowid')
      return joinSql([...terms, dialect.orderBy(tieBreaker, key.isDescending)], ', ');
    if (key.name === '@random') {
      terms.push(dialect.orderRandomly);
      continue;
    }
    terms.push(dialect.orderBy(toOperand(key, context.resolve), key.isDescending));
    isDescending = key.isDescending;
  }
  return joinSql([...terms, dialect.orderBy(tieBreaker, isDescending)], ', ');
}

function toOperand({ name, position }: SortKey, resolve: Resolve): Operand {
  // The moment does not matter, only whether the name is taken.
  if (macroValue(name, 0) !== undefined) {
    throw sortError(`Expected a field to sort by and found the macro ${quote(name)}`, position);
  }
  const operand = resolve(name);
  if (operand === undefined) throw sortError(explainUnknown(name, resolve), position);
  // Where the value may not be seen it must not be guessed from the order either.
  const { guard, isNeverNull: _, ...unguarded } = operand;
  return guard === undefined
    ? operand
    : { ...unguarded, sql: sql`(CASE WHEN ${guard} THEN ${operand.sql} END)` };
}
