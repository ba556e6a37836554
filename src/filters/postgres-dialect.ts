import { assert, unreachable } from '../base/assert.ts';
import { foldCase, hasFormsBeyondAscii } from '../base/case-folding.ts';
import { lowerAscii } from '../base/text.ts';
import { converted, holds, typeOf } from '../sql/slot.ts';
import { literal, sql, type Sql } from '../sql/sql.ts';
import type { Comparator, Dialect, LikeMatch } from './dialect.ts';
import { filterLimits } from './filter-error.ts';
import { type Constant, isOperand, mayBeSlow, type Operand, type Prefix, type Term } from './operand.ts';
import { formsExpression, translation } from './forms-expression.ts';
import {
  isText,
  jsonText,
  lengthIn,
  noNumber,
  noText,
  numberOrText,
  textOf,
  type Value,
  valueOf,
  withSources,
} from './postgres-value.ts';

/**
 * Gives the same results as SQLite, for operands that are columns of these types:
 *
 *   text, date   text COLLATE "C"
 *   number       double precision; integers of any size work as well
 *   bool         smallint, 0 or 1
 *   json         text COLLATE "C" with CHECK ("name" IS NULL OR "name"::jsonb IS NOT NULL), which refuses invalid JSON and
 *                values that cannot be extracted as text, so that no stored value can make a query fail
 *
 * All constants are cast to their types. Question marks are placeholders only, so operators and patterns contain none.
 */
export const postgresDialect: Dialect = {
  engine: 'postgres',
  compare,
  compareCoalesced,
  like,
  orderBy,
  orderRandomly: sql`random()`,
  lower,
  each: (list, alias) => sql`LATERAL json_array_elements_text((${list})::json) AS ${alias}(value)`,
  valueOfEach: (alias) => ({ sql: sql`(${alias}.value COLLATE "C")`, kind: 'text' }),
  length: (list) => ({
    sql: sql`COALESCE(json_array_length((${list})::json), 0)::double precision`,
    kind: 'number',
  }),
  lengthInJson: (value) => ({ sql: withSources(...lengthIn(value)), kind: 'number' }),
  countOf: (alias) => ({ sql: sql`COUNT(${alias}.id)::double precision`, kind: 'number' }),
  opaque: (text) => sql`(${text} || '')`,
  columnType: (kind) => columnTypes[kind],
  placeholder: (kind) =>
    kind === 'number' || kind === 'bool' ? sql`${null}::${columnTypes[kind]}` : sql`${null}`,
  typed: (kind, value) =>
    kind === 'number' || kind === 'bool'
      ? sql`CAST(${value} AS ${columnTypes[kind]})`
      : sql`CAST(${value} AS text) COLLATE "C"`,
  utf8: sql`convert_to(${null}, 'UTF8')`,
  foldedKey: (column) => sql`lower(${column})`,
  equalsFolded: (column, text) => sql`lower(${column}) = ${lowerAscii(text)}`,
  listOf: (text) => sql`json_build_array(${text})::text`,
  lastOf: (list) => sql`${list}::json ->> -1`,
  numberUnder: (object, name) => sql`(${object}::json ->> ${literal(name)})::double precision`,
  preview: previewOf,
};

const columnTypes = {
  text: sql`text COLLATE "C"`,
  number: sql`double precision`,
  bool: sql`smallint`,
  json: sql`text COLLATE "C"`,
} as const;

const operators: Readonly<Record<Comparator, Sql>> = {
  '=': sql`=`,
  IS: sql`IS NOT DISTINCT FROM`,
  'IS NOT': sql`IS DISTINCT FROM`,
  '<': sql`<`,
  '<=': sql`<=`,
  '>': sql`>`,
  '>=': sql`>=`,
};

function previewOf(operand: Operand, lengthMax: number): Sql {
  const { kind, sql: value } = operand;
  switch (kind) {
    case 'text':
    case 'date':
      return sql`to_json(left(${value}, ${literal(lengthMax)}))::text`;
    case 'number':
      return sql`to_json(${value})::text`;
    case 'bool':
      return sql`CASE ${value} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END`;
    case 'json':
      return sql`left(${jsonText(operand)}, ${literal(lengthMax)})`;
    default:
      return unreachable(kind);
  }
}

/** `5 < x` is `x > 5`. */
const mirrored = {
  '=': '=',
  IS: 'IS',
  'IS NOT': 'IS NOT',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
} as const;

function compare(left: Term, comparator: Comparator, right: Term): Sql {
  if (isOperand(left)) {
    return isOperand(right)
      ? compareOperands(left, comparator, right)
      : compareConstant(left, comparator, right);
  }
  assert(isOperand(right), 'one side of a comparison is an operand');
  return compareConstant(right, mirrored[comparator], left);
}

function compareConstant(operand: Operand, comparator: Comparator, constant: Constant): Sql {
  if (operand.kind === 'json') return compareJson(operand, comparator, constant);
  if (constant !== null && operand.prefix !== undefined && typeOf(constant) === 'string')
    return comparePrefix(operand, comparator, { constant, prefix: operand.prefix });
  if (constant !== null) return sql`${operand.sql} ${operators[comparator]} ${typed(constant, operand)}`;
  // An index serves IS NULL, but not IS NOT DISTINCT FROM NULL.
  const indexed = operand.prefix?.sql ?? operand.sql;
  return comparator === 'IS NOT' ? sql`${indexed} IS NOT NULL` : sql`${indexed} IS NULL`;
}

/**
 * Compares by the prefix, which an index is over. For a constant shorter than the prefix that is enough: the comparison is decided
 * before the prefix ends. For a longer one, the prefix narrows the search in the index and the whole text decides.
 */
function comparePrefix(
  operand: Operand,
  comparator: Comparator,
  { constant, prefix }: { readonly constant: Exclude<Constant, null>; readonly prefix: Prefix },
): Sql {
  // Code units are never fewer than code points.
  if (holds(constant, (text) => String(text).length < prefix.length))
    return sql`${prefix.sql} ${operators[comparator]} ${typed(constant, operand)}`;
  const compared = sql`${operand.sql} ${operators[comparator]} ${typed(constant, operand)}`;
  const bound = prefixComparators[comparator];
  if (bound === undefined) return compared;
  const start = sql`left(${constant}::text, ${literal(prefix.length)})`;
  return sql`(${prefix.sql} ${operators[bound]} ${start} AND ${compared})`;
}

/** The comparison that holds for prefixes whenever the comparison holds for the texts. */
const prefixComparators: Readonly<Record<Comparator, Comparator | undefined>> = {
  '=': '=',
  IS: 'IS',
  'IS NOT': undefined,
  '<': '<=',
  '<=': '<=',
  '>': '>=',
  '>=': '>=',
};

function typed(constant: Exclude<Constant, null>, { kind }: Operand): Sql {
  if (typeOf(constant) === 'string') return sql`${constant}::text`;
  // An index on a smallint column cannot serve a comparison with a double precision.
  const isBit = kind === 'bool' && holds(constant, (value) => value === 0 || value === 1);
  return isBit ? sql`${constant}::smallint` : sql`${constant}::double precision`;
}

/** Compares a json value with a constant: with one of its own kind by value; every number is less than every text. */
function compareJson(operand: Operand, comparator: Comparator, constant: Constant): Sql {
  const value = valueOf(operand);
  const { number = noNumber, text = noText } = value;
  const compareParts = (): Sql => {
    if (constant === null) {
      return comparator === 'IS NOT'
        ? sql`${number} IS NOT NULL OR ${text} IS NOT NULL`
        : sql`${number} IS NULL AND ${text} IS NULL`;
    }
    const isTextual = typeOf(constant) === 'string';
    const [like, unlike] = isTextual ? [text, number] : [number, text];
    const compared = sql`${like} ${operators[comparator]} ${typed(constant, operand)}`;
    if (comparator === 'IS' || comparator === 'IS NOT') return compared;
    const isTrueOfUnlike = comparator.startsWith(isTextual ? '<' : '>');
    return isTrueOfUnlike
      ? sql`${compared} OR ${unlike} IS NOT NULL`
      : sql`${compared} AND ${unlike} IS NULL`;
  };
  return withSources(compareParts(), value);
}

function compareOperands(left: Operand, comparator: Comparator, right: Operand): Sql {
  const isOfOneKind = left.kind !== 'json' && right.kind !== 'json' && isText(left) === isText(right);
  if (isOfOneKind) return sql`${left.sql} ${operators[comparator]} ${right.sql}`;
  const values = [besideOther(left, right, 'left'), besideOther(right, left, 'right')] as const;
  return withSources(compareValues(values, comparator), ...values);
}

/** Converts an operand as SQLite's affinities do beside the other one. Beside a json value nothing is converted. */
function besideOther(operand: Operand, other: Operand, side: 'left' | 'right'): Value {
  const value = valueOf(operand, side);
  if (other.kind === 'json') return value;
  if (!isText(other)) return numberOrText(value);
  return operand.kind === 'json' ? textOf(operand, side) : value;
}

function compareValues([left, right]: readonly [Value, Value], comparator: Comparator): Sql {
  const operator = operators[comparator];
  const { number: leftNumber = noNumber, text: leftText = noText } = left;
  const { number: rightNumber = noNumber, text: rightText = noText } = right;
  const numbers = sql`${leftNumber} ${operator} ${rightNumber}`;
  const texts = sql`${leftText} ${operator} ${rightText}`;
  if (left.number === undefined && right.number === undefined) return texts;
  if (comparator === 'IS') return sql`(${numbers} AND ${texts})`;
  if (comparator === 'IS NOT') return sql`(${numbers} OR ${texts})`;
  // The ELSE is reached only for a number beside a text.
  const isTrueOtherwise = comparator.startsWith('<')
    ? sql`${leftNumber} IS NOT NULL`
    : comparator === '='
      ? sql`FALSE`
      : sql`${leftText} IS NOT NULL`;
  return sql`CASE WHEN ${leftText} IS NULL AND ${rightText} IS NULL THEN ${numbers} WHEN ${leftNumber} IS NULL AND ${rightNumber} IS NULL THEN ${texts} ELSE ${isTrueOtherwise} END`;
}

function compareCoalesced(left: Operand, comparator: '=' | 'IS NOT', right: Operand): Sql {
  const isEqual = comparator === '=';
  if (isText(left) && isText(right))
    return sql`COALESCE(${left.sql}, '') ${isEqual ? sql`=` : sql`<>`} COALESCE(${right.sql}, '')`;
  if (!isText(left) && !isText(right))
    return sql`${left.sql} ${operators[isEqual ? 'IS' : 'IS NOT']} ${right.sql}`;
  const [text, number] = isText(left) ? [left, right] : [right, left];
  // A text and a number are equal only if both are empty: NULL becomes '', which is no number.
  const areEmpty = sql`(COALESCE(${text.sql}, '') = '' AND ${number.sql} IS NULL)`;
  return isEqual ? areEmpty : sql`NOT ${areEmpty}`;
}

function like({ subject, pattern, isNegated }: LikeMatch): Sql {
  const value = isOperand(subject) ? textOf(subject) : { text: sql`${converted(subject, String)}::text` };
  if (isOperand(pattern)) {
    const needle = textOf(pattern, 'right');
    const isShort = sql`octet_length(${needle.text}) <= ${filterLimits.patternBytesMax}::integer`;
    const matches = matchBySize(folded(value.text), sql`('%' || ${folded(needle.text)} || '%')`, isNegated);
    return withSources(sql`(${isShort} AND ${matches})`, value, needle);
  }
  if (holds(pattern, endsInEscape)) {
    // Such a pattern matches nothing on SQLite, and is an error on PostgreSQL.
    const never = sql`CASE WHEN ${value.text} IS NOT NULL THEN ${isNegated ? sql`TRUE` : sql`FALSE`} END`;
    return withSources(never, value);
  }
  const { text } = value;
  const match = mayBeSlow(subject, pattern) ? matchBySize : matchByLike;
  const ascii = match(lowered(text), sql`${converted(pattern, foldCase)}::text`, isNegated);
  if (!holds(pattern, hasFormsBeyondAscii)) return withSources(ascii, value);
  const operator = isNegated ? sql`!~` : sql`~`;
  const other = sql`(${text}) COLLATE "C" ${operator} ${converted(pattern, formsExpression)}::text`;
  return withSources(sql`CASE WHEN ${isAscii(text)} THEN ${ascii} ELSE ${other} END`, value);
}

/** Larger texts are matched by a regular expression, see {@link matchBySize}. */
const likeBytesMax = 8 * 1024;

/**
 * LIKE begins anew at each character that the pattern could begin with: it takes seconds for a long pattern in a text of megabytes,
 * and cannot be interrupted meanwhile. The matcher of regular expressions takes a step for each character and can be interrupted, but
 * costs more to begin with.
 */
function matchBySize(text: Sql, pattern: Sql, isNegated: boolean): Sql {
  const matches = sql`${text} ${isNegated ? sql`!~` : sql`~`} ${toRegularExpression(pattern)}`;
  return sql`CASE WHEN octet_length(${text}) > ${literal(likeBytesMax)} THEN ${matches} ELSE ${matchByLike(text, pattern, isNegated)} END`;
}

function matchByLike(text: Sql, pattern: Sql, isNegated: boolean): Sql {
  return sql`${text} ${isNegated ? sql`NOT LIKE` : sql`LIKE`} ${pattern}`;
}

/** Takes a pattern of LIKE apart into wildcards, escaped characters and all others, and writes each as a regular expression does. */
function toRegularExpression(pattern: Sql): Sql {
  const quoted = sql`regexp_replace(right(found[1], 1), ${specialCharacter}::text, ${String.raw`\\\&`}::text)`;
  const parts = sql`regexp_matches(${pattern}, ${String.raw`\\?.`}::text, 'g') WITH ORDINALITY AS parts(found, place)`;
  return sql`(SELECT '^' || string_agg(CASE found[1] WHEN '%' THEN '.*' WHEN '_' THEN '.' ELSE ${quoted} END, '' ORDER BY place) || '$' FROM ${parts})`;
}

const specialCharacter = String.raw`[].^$*+?(){}|[\\]`;

function lower(operand: Operand): Operand {
  const value = textOf(operand);
  return { sql: sql`(${withSources(folded(value.text), value)})`, kind: 'text' };
}

/** True for a pattern that ends in a `\` that escapes nothing. */
function endsInEscape(pattern: string): boolean {
  return /(?<!\\)(?:\\\\)*\\$/.test(pattern);
}

/** Lower-cases only ASCII letters: in the collation "C" lower() knows no others, whatever the database's own locale. */
function lowered(text: Sql): Sql {
  return sql`lower((${text}) COLLATE "C")`;
}

function isAscii(text: Sql): Sql {
  return sql`octet_length(${text}) = char_length(${text})`;
}

/** Folds case as base/case-folding.ts does, on every version and in every locale. */
function folded(text: Sql): Sql {
  const { from, to } = translation();
  const translated = sql`translate(${lowered(text)}, ${from}::text, ${to}::text)`;
  return sql`CASE WHEN ${isAscii(text)} THEN ${lowered(text)} ELSE ${translated} END`;
}

function orderBy(operand: Operand, isDescending: boolean): Sql {
  const direction = isDescending ? sql` DESC NULLS LAST` : sql` NULLS FIRST`;
  const value = valueOf(operand);
  const { number, text } = value;
  // The text of a number is NULL, so that numbers come before all texts, or behind them when descending.
  if (number !== undefined && text !== undefined)
    return sql`${withSources(text, value)}${direction}, ${withSources(number, value)}${direction}`;
  // For a column that is never NULL, NULLS FIRST or LAST is left out: it would keep an ordinary index from serving the order.
  const end = operand.isNeverNull === true ? (isDescending ? sql` DESC` : sql``) : direction;
  const whole = sql`${operand.sql}${end}`;
  return operand.prefix === undefined ? whole : sql`${operand.prefix.sql}${end}, ${whole}`;
}
