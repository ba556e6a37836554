import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Dialect } from './dialect.ts';
import { quote, sortError } from './filter-error.ts';
import { macroValue } from './macro-value.ts';
import { isOperand, type Operand, type Resolve } from './operand.ts';
import type { SortKey } from './parse-sort.ts';
import { explainUnknown, isMisuse } from './resolve-term.ts';

export interface SortContext {
  readonly resolve: Resolve;
  /** The hidden `$position`: what `@rowid` means, and the last key of every order, so that no two rows are equal (http-api A18). */
  readonly tieBreaker: Operand;
}

export interface SortTerm {
  /** Undefined for `@random`. */
  readonly operand: Operand | undefined;
  readonly isDescending: boolean;
}

/**
 * Resolves the keys that a list is ordered by, and appends the tie-breaker in the direction of the last key. So with `-created` the
 * newest of one millisecond also come first, and an index on (created, position) serves both directions. Throws a sort error.
 */
export function sortTerms(keys: readonly SortKey[], context: SortContext): readonly SortTerm[] {
  const { tieBreaker } = context;
  const terms: SortTerm[] = [];
  const seen = new Set<string>();
  let last: SortTerm | undefined;
  let isDescendingLast = false;
  for (const key of keys) {
    const { name, isDescending } = key;
    if (seen.has(name)) continue;
    seen.add(name);
    if (name === '@rowid') {
      last ??= { operand: tieBreaker, isDescending };
      continue;
    }
    const operand = name === '@random' ? undefined : toOperand(key, context.resolve);
    // Positions are unique, so keys behind `@rowid` have no effect. They are resolved to refuse those that the caller may not use.
    if (last !== undefined) continue;
    terms.push({ operand, isDescending });
    if (operand !== undefined) isDescendingLast = isDescending;
  }
  return [...terms, last ?? { operand: tieBreaker, isDescending: isDescendingLast }];
}

/** Compiles the list that stands behind ORDER BY. */
export function compileSort(terms: readonly SortTerm[], dialect: Dialect): Sql {
  const orders = terms.map(({ operand, isDescending }) =>
    operand === undefined ? dialect.orderRandomly : dialect.orderBy(operand, isDescending),
  );
  return joinSql(orders, ', ');
}

function toOperand({ name, position, isDescending }: SortKey, resolve: Resolve): Operand {
  // 0 for now: the value does not matter, only whether the name is a macro.
  if (macroValue(name, 0) !== undefined) {
    throw sortError(`Expected a field to sort by and found the macro ${quote(name)}`, position);
  }
  const operand = resolve(name);
  if (isMisuse(operand)) throw sortError(operand.problem, position);
  if (operand === undefined) throw sortError(explainUnknown(name), position);
  if (!isOperand(operand)) throw sortError(`Expected a field to sort by and found ${quote(name)}`, position);
  const { many } = operand;
  if (many === undefined) return guarded(operand);
  if (operand.kind === 'json') {
    throw sortError(`Expected one value for each record and found many of ${quote(name)}`, position);
  }
  const one = guarded(many.operand);
  const value = isDescending ? sql`max(${one.sql})` : sql`min(${one.sql})`;
  return { kind: operand.kind, sql: sql`(SELECT ${value} FROM ${many.rows})` };
}

/**
 * Replaces a guarded value by NULL where the guard is false, as its place in the order would reveal it. A prefix that always holds the
 * whole text replaces the column: an index then serves the order, and a cursor uses the same expression.
 */
function guarded(operand: Operand): Operand {
  const { guard, isNeverNull: _, prefix, ...unguarded } = operand;
  if (guard === undefined && prefix?.isWhole === true) {
    const { prefix: __, ...whole } = operand;
    return { ...whole, sql: prefix.sql };
  }
  return guard === undefined
    ? operand
    : { ...unguarded, sql: sql`(CASE WHEN ${guard} THEN ${operand.sql} END)` };
}
