import { assert, unreachable } from '../../base/assert.ts';
import { readDateOrPeriod } from '../../base/read-date.ts';
import { decimalText, realText } from '../../base/text.ts';
import { bothHold, converted, holds, Slot, typeOf } from '../../sql/slot.ts';
import { joinSql, sql, type Sql } from '../../sql/sql.ts';
import type { Dialect } from '../dialect.ts';
import { filterError, filterLimits, quote } from '../filter-error.ts';
import {
  type Constant,
  type Constants,
  isOperand,
  type Many,
  numberOfText,
  type Operand,
  type OperandKind,
  type PlainConstant,
  type Term,
} from '../operand.ts';
import type { Comparison, FilterTree, OperandNode, Operator } from '../parse.ts';
import { type FilterContext, resolveTerm } from './resolve.ts';

/**
 * Compiles a filter to a condition. All values are parameters and the text depends only on the filter's shape, so that statements can
 * be cached by text. Throws a filter error for names and functions that do not exist.
 */
export function compileFilter(tree: FilterTree, context: FilterContext): Sql {
  if (tree.kind === 'comparison') return compileComparison(tree, context);
  const items = tree.items.map((item) => compileFilter(item, context));
  return tree.kind === 'and' ? allOf(items) : anyOf(items);
}

type OrderOperator = '<' | '<=' | '>' | '>=';

/**
 * Compiles one comparison (http-api 8.4). A constant is converted to the kind of the other side here and not by the engine, so
 * that every engine compares texts with texts and numbers with numbers.
 *
 * Where a side has many values, `?=` and its kin hold if any value matches; `=` also requires that no value fails to match
 * (http-api 8.5). Otherwise the two are the same.
 */
export function compileComparison(node: Comparison, context: FilterContext): Sql {
  const left = choicesOf(resolveTerm(node.left, context, node.isAny), node.left);
  const right = choicesOf(resolveTerm(node.right, context, node.isAny), node.right);
  const { dialect } = context;
  const conditions = left.flatMap((one) =>
    right.map((other) =>
      compilePair({
        node,
        left: timeBeside(other, one, { node, operand: node.left, context }),
        right: timeBeside(one, other, { node, operand: node.right, context }),
        dialect,
      }),
    ),
  );
  return node.isAny ? anyOf(conditions) : allOf(conditions);
}

interface Written {
  readonly node: Comparison;
  /** How the term is written. */
  readonly operand: OperandNode;
  readonly context: FilterContext;
}

/**
 * Returns a text that is compared with a date as the time that it means, in the form in which dates are stored (http-api A24). One that
 * came with the request in another way than as a part of the filter may be no time, and is then compared as it is.
 */
function timeBeside(other: Term, term: Term, { node, operand, context }: Written): Term {
  const isTime = isOperand(other) && other.kind === 'date' && node.operator !== '~' && node.operator !== '!~';
  if (!isTime || isOperand(term) || term === null || typeOf(term) !== 'string') return term;
  const isRequest = operand.kind === 'identifier' && operand.name.startsWith('@request.');
  if (operand.kind !== 'text' && !isRequest) return term;
  if (holds(term, isReadable)) return converted<PlainConstant, string>(term, readTime);
  if (isRequest || context.isStored === true) return term;
  const text = String(term instanceof Slot ? term.value : term);
  throw filterError(
    `Expected a time such as "2026-11-20 09:35:20.114Z" or "2026-11-20" beside a date and found ${quote(text)}`,
    operand.position,
  );
}

function isReadable(text: PlainConstant): boolean {
  return readDateOrPeriod(String(text)) !== undefined;
}

function readTime(text: PlainConstant): string {
  return readDateOrPeriod(String(text)) ?? String(text);
}

/** The constants to compare: all values of a list that came with the request. An empty list is, as in the database, one NULL. */
function choicesOf(term: Term | Constants, node: OperandNode): readonly Term[] {
  if (!isConstants(term)) return [term];
  if (term.values.length > filterLimits.constantsMax) {
    throw filterError(
      `Expected at most ${filterLimits.constantsMax} values to compare with; a longer list`,
      node.position,
    );
  }
  return term.values.length === 0 ? [null] : term.values;
}

function isConstants(term: Term | Constants): term is Constants {
  return typeof term === 'object' && term !== null && 'values' in term;
}

function compilePair(terms: Terms): Sql {
  const { node, left, right } = terms;
  if (node.isAny) return compileAny(terms);
  const condition = compileGuarded(terms);
  const rows = [left, right].flatMap((term) => manyOf(term)?.rows ?? []);
  if (rows.length === 0) return condition;
  const every = compileGuarded({
    ...terms,
    left: manyOf(left)?.operand ?? left,
    right: manyOf(right)?.operand ?? right,
  });
  return sql`(${condition} AND NOT EXISTS (SELECT 1 FROM ${crossJoin(rows)} WHERE NOT ${every}))`;
}

/** Values that are joined are compared in the row of the join, others in rows of their own. */
function compileAny(terms: Terms): Sql {
  const { left, right } = terms;
  const rows = [left, right].flatMap((term) => apartOf(term)?.rows ?? []);
  if (rows.length === 0) return compileGuarded(terms);
  const any = compileGuarded({
    ...terms,
    left: apartOf(left)?.operand ?? left,
    right: apartOf(right)?.operand ?? right,
  });
  return sql`EXISTS (SELECT 1 FROM ${crossJoin(rows)} WHERE ${any})`;
}

function crossJoin([first, second]: readonly Sql[]): Sql {
  assert(first !== undefined, 'a side has rows');
  return second === undefined ? first : sql`${first} CROSS JOIN ${second}`;
}

function manyOf(term: Term): Many | undefined {
  return isOperand(term) ? term.many : undefined;
}

function apartOf(term: Term): Many | undefined {
  return isOperand(term) ? term.apart : undefined;
}

function compileGuarded(terms: Terms): Sql {
  const guards = [terms.left, terms.right].flatMap((term) =>
    isOperand(term) && term.guard !== undefined ? [sql`(${term.guard})`] : [],
  );
  return allOf([compileTerms(terms), ...guards]);
}

interface Terms {
  readonly node: Comparison;
  readonly left: Term;
  readonly right: Term;
  readonly dialect: Dialect;
}

function compileTerms({ node, left, right, dialect }: Terms): Sql {
  const { operator } = node;
  if (operator === '~' || operator === '!~') return compileLike({ node, left, right, dialect });
  if (isOperand(left)) {
    if (isOperand(right)) return compareOperands(left, right, { operator, dialect });
    return compareWithConstant(left, right, { operator, dialect });
  }
  if (isOperand(right)) return compareWithConstant(right, left, { operator: mirrored[operator], dialect });
  return truth(bothHold(left, right, (one, other) => compareConstants(one, operator, other)));
}

type Equality = '=' | '!=';

interface How {
  readonly operator: Equality | OrderOperator;
  readonly dialect: Dialect;
}

/** `5 < x` is `x > 5`. */
const mirrored = { '=': '=', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;

function compareOperands(left: Operand, right: Operand, { operator, dialect }: How): Sql {
  if (!isEquality(operator)) return dialect.compare(left, operator, right);
  if (left.kind === 'json' || right.kind === 'json') {
    return dialect.compare(left, operator === '=' ? 'IS' : 'IS NOT', right);
  }
  return dialect.compareCoalesced(left, operator === '=' ? '=' : 'IS NOT', right);
}

/** An operand whose values all have the kind of its column; in a json column the kind differs from row to row. */
type PlainOperand = Operand & { readonly kind: Exclude<OperandKind, 'json'> };

function compareWithConstant(operand: Operand, constant: Constant, { operator, dialect }: How): Sql {
  if (!isPlain(operand)) {
    if (isEquality(operator)) return dialect.compare(operand, operator === '=' ? 'IS' : 'IS NOT', constant);
    return constant === null ? truth(false) : dialect.compare(operand, operator, constant);
  }
  if (isEquality(operator)) return equals(operand, constant, { operator, dialect });
  if (constant === null) return truth(false);
  const value = toKind(constant, operand.kind);
  if (value !== undefined) return dialect.compare(operand, operator, value);
  // The constant is a text that is no number, and every number sorts before it. Only NULL is never less.
  return operator === '<' || operator === '<=' ? dialect.compare(operand, 'IS NOT', null) : truth(false);
}

function equals(operand: PlainOperand, constant: Constant, { operator, dialect }: How): Sql {
  const isEqual = operator === '=';
  if (constant === null || holds(constant, isBlank)) return isEmpty(operand, isEqual, dialect);
  const value = toKind(constant, operand.kind);
  if (value === undefined) return truth(!isEqual);
  return dialect.compare(operand, isEqual ? '=' : 'IS NOT', value);
}

function isBlank(constant: PlainConstant): boolean {
  return constant === '';
}

/** Empty is NULL or the empty text; 0 and false are values. */
function isEmpty(operand: PlainOperand, isWanted: boolean, dialect: Dialect): Sql {
  const isNull = dialect.compare(operand, isWanted ? 'IS' : 'IS NOT', null);
  if (operand.kind === 'number' || operand.kind === 'bool') return isNull;
  const isBlank = dialect.compare(operand, isWanted ? '=' : 'IS NOT', '');
  return isWanted ? sql`(${isBlank} OR ${isNull})` : sql`(${isBlank} AND ${isNull})`;
}

/** Converts a constant by the column's affinity; undefined for a text that is no number beside a number column. */
function toKind(constant: Exclude<Constant, null>, kind: PlainOperand['kind']): Constant | undefined {
  switch (kind) {
    case 'text':
    case 'date':
      return converted(constant, constantText);
    case 'number':
    case 'bool':
      if (typeOf(constant) === 'string' && !holds(constant, looksLikeNumber)) return undefined;
      return converted(constant, toNumber);
    default:
      return unreachable(kind);
  }
}

function looksLikeNumber(constant: PlainConstant): boolean {
  return numberOfText(String(constant)) !== undefined;
}

/** Not for a text that does not look like a number. */
function toNumber(constant: PlainConstant): number {
  return typeof constant === 'string' ? (numberOfText(constant) ?? Number.NaN) : Number(constant);
}

function constantText(constant: PlainConstant): string {
  return typeof constant === 'number' ? realText(constant) : String(constant);
}

function compileLike({ node, left, right, dialect }: Terms): Sql {
  if (left === null || right === null) return truth(false);
  const subject = isOperand(left) ? left : converted(left, constantText);
  const pattern = isOperand(right) ? right : toPattern(right, node);
  return dialect.like({ subject, pattern, isNegated: node.operator === '!~' });
}

function toPattern(constant: Exclude<Constant, null>, { right }: Comparison): string | Slot {
  const value = converted<PlainConstant, string>(constant, (plain) =>
    typeof plain === 'number' ? decimalText(plain) : String(plain),
  );
  if (holds(value, (text) => Buffer.byteLength(text) > filterLimits.patternBytesMax)) {
    throw filterError(
      `Expected at most ${filterLimits.patternBytesMax} bytes to search for with "~"; a longer text`,
      right.position,
    );
  }
  return converted(value, likePattern);
}

function isPlain(operand: Operand): operand is PlainOperand {
  return operand.kind !== 'json';
}

function isEquality(operator: Operator): operator is Equality {
  return operator === '=' || operator === '!=';
}

/** The conditions that are the same for every row: literals and no parameters, whose type an engine would have to guess. */
export const always = sql`TRUE`;
export const never = sql`FALSE`;

function truth(isTrue: boolean): Sql {
  return isTrue ? always : never;
}

/** Returns the constant value of a compiled condition, where the request alone decides it. */
export function constantOf(condition: Sql): boolean | undefined {
  if (condition === always) return true;
  return condition === never ? false : undefined;
}

/** Returns the condition that all of these hold. Constants among them are left out, or decide it. */
export function allOf(conditions: readonly Sql[]): Sql {
  if (conditions.includes(never)) return never;
  const rest = conditions.filter((condition) => condition !== always);
  return rest.length === 0 ? always : balance(rest, ' AND ');
}

function anyOf(conditions: readonly Sql[]): Sql {
  if (conditions.includes(always)) return always;
  const rest = conditions.filter((condition) => condition !== never);
  return rest.length === 0 ? never : balance(rest, ' OR ');
}

/** Joins at least one item as a balanced tree, ((a OR b) OR (c OR d)): engines limit the depth of expressions, and a chain is deep. */
function balance(items: readonly Sql[], join: ' AND ' | ' OR '): Sql {
  if (items.length <= 2) return sql`(${joinSql(items, join)})`;
  const half = items.length >> 1;
  return sql`(${joinSql([balance(items.slice(0, half), join), balance(items.slice(half), join)], join)})`;
}

type Relation = '=' | '!=' | '<' | '<=' | '>' | '>=';

/** Compares two constants, which keep their kinds: a number is less than every text; for = and != null is the empty text. */
function compareConstants(left: PlainConstant, operator: Relation, right: PlainConstant): boolean {
  const isEquality = operator === '=' || operator === '!=';
  if (!isEquality && (left === null || right === null)) return false;
  const order = compare(left ?? '', right ?? '');
  switch (operator) {
    case '=':
      return order === 0;
    case '!=':
      return order !== 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
    default:
      return unreachable(operator);
  }
}

function compare(left: Exclude<PlainConstant, null>, right: Exclude<PlainConstant, null>): number {
  if (typeof left === 'string') {
    // By UTF-8 bytes, as both engines do: UTF-16 units order characters above U+FFFF differently.
    return typeof right === 'string' ? Buffer.compare(Buffer.from(left), Buffer.from(right)) : 1;
  }
  if (typeof right === 'string') return -1;
  return Number(left) - Number(right);
}

/**
 * Converts the right side of `~` to a LIKE pattern. A value with a wildcard `%` is the pattern itself. Any other is searched for
 * anywhere, and `%`, `_` and `\` in it stand for themselves, whether they are escaped or not (http-api 8.4).
 */
export function likePattern(value: string): string {
  if (hasWildcard(value)) return value;
  // The first alternative matches escaped characters, which stay unchanged.
  const escaped = value.replaceAll(/\\[\\%_]|[\\%_]/g, (match) =>
    match.length === 2 ? match : `\\${match}`,
  );
  return `%${escaped}%`;
}

function hasWildcard(value: string): boolean {
  return value.replaceAll(/\\[\s\S]/g, '').includes('%');
}
