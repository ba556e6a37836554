import { joinSql, limit, sql, type Sql } from '../../sql/sql.ts';
import type { Dialect } from '../dialect.ts';
import { filterLimits, quote, sortError } from '../filter-error.ts';
import { isOperand, type Operand, type Resolve } from '../operand.ts';
import { explainUnknown, isMisuse, macroValue } from './resolve.ts';

export interface SortContext {
  readonly resolve: Resolve;
  /** The hidden `$position`: what `@rowid` means, and the last key of every order, so that no two rows are equal (http-api A18). */
  readonly tieBreaker: Operand;
  /** Orders rows with the same position, where several may have it. */
  readonly tieBreakerEnd?: Operand;
  readonly dialect: Dialect;
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
  const { tieBreaker, tieBreakerEnd } = context;
  const terms: SortTerm[] = [];
  const names = new Set<string>();
  let last: SortTerm | undefined;
  let isDescendingLast = false;
  for (const key of keys) {
    const { name, isDescending } = key;
    if (names.has(name)) continue;
    names.add(name);
    if (name === '@rowid') {
      last ??= { operand: tieBreaker, isDescending };
      continue;
    }
    const operand = name === '@random' ? undefined : toOperand(key, context);
    // Positions are unique, so keys behind `@rowid` have no effect. They are resolved to reject names that the caller may not use.
    if (last !== undefined) continue;
    terms.push({ operand, isDescending });
    if (operand !== undefined) isDescendingLast = isDescending;
  }
  last ??= { operand: tieBreaker, isDescending: isDescendingLast };
  const end = tieBreakerEnd && { operand: tieBreakerEnd, isDescending: last.isDescending };
  return end === undefined ? [...terms, last] : [...terms, last, end];
}

/** Compiles the list that stands behind ORDER BY. */
export function compileSort(terms: readonly SortTerm[], dialect: Dialect): Sql {
  const orders = terms.map(({ operand, isDescending }) =>
    operand === undefined ? dialect.orderRandomly : dialect.orderBy(operand, isDescending),
  );
  return joinSql(orders, ', ');
}

function toOperand({ name, position, isDescending }: SortKey, { resolve, dialect }: SortContext): Operand {
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
  const one = guarded(many.operand);
  if (one.kind === 'json') {
    const order = dialect.orderBy(one, isDescending);
    return { ...one, sql: sql`(SELECT ${one.sql} FROM ${many.rows} ORDER BY ${order}${limit(1)})` };
  }
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

export interface SortKey {
  /** A path as in a filter, `@rowid` or `@random`. */
  readonly name: string;
  readonly isDescending: boolean;
  /** The offset of the name in the text, in UTF-16 units from 0. */
  readonly position: number;
}

/** Parses `-created,+title,author`; blanks around keys are allowed, and the first key counts most. Throws a sort error. */
export function parseSort(text: string): readonly SortKey[] {
  const keys: SortKey[] = [];
  let start = 0;
  for (;;) {
    const comma = text.indexOf(',', start);
    if (keys.length === filterLimits.sortKeysMax)
      throw sortError(`Expected at most ${filterLimits.sortKeysMax} sort keys; one more`, start);
    keys.push(toSortKey(text.slice(start, comma === -1 ? text.length : comma), start));
    if (comma === -1) return keys;
    start = comma + 1;
  }
}

function toSortKey(item: string, start: number): SortKey {
  const trimmed = item.trim();
  const position = start + item.indexOf(trimmed);
  const hasSign = trimmed.startsWith('-') || trimmed.startsWith('+');
  const name = hasSign ? trimmed.slice(1) : trimmed;
  if (name.length > filterLimits.sortKeyLengthMax) {
    throw sortError(
      `Expected at most ${filterLimits.sortKeyLengthMax} characters in a sort key; a longer one`,
      position,
    );
  }
  // The identifiers of scan.ts; a key is one of them and nothing else.
  if (!/^(?:[A-Za-z]|[@_#](?=[A-Za-z0-9_.:]))[A-Za-z0-9_.:]*$/.test(name) || /[.:]$/.test(name)) {
    const actual = name === '' ? 'nothing' : quote(name);
    throw sortError(`Expected the name of a field and found ${actual}`, position + (hasSign ? 1 : 0));
  }
  return { name, isDescending: trimmed.startsWith('-'), position: position + (hasSign ? 1 : 0) };
}
