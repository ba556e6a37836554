import { assert } from '../base/assert.ts';
import { lowerAscii } from '../base/lower-ascii.ts';
import { literal, sql, type Sql } from '../sql/sql.ts';
import type { Comparator, Dialect, LikeMatch } from './dialect.ts';
import { filterLimits } from './filter-limits.ts';
import { isOperand, type Constant, type Operand, type Prefix, type Term } from './operand.ts';
import { postgresDistance } from './postgres-distance.ts';
import { postgresTime } from './postgres-time.ts';
import {
  isText,
  noNumber,
  noText,
  numberOrText,
  textOf,
  valueOf,
  withSources,
  type Value,
} from './postgres-value.ts';

/**
 * The answers of SQLite, for operands that are columns of these types:
 *
 *   text, date   text COLLATE "C"
 *   number       double precision; any integer will do
 *   bool         smallint, 0 or 1
 *   json         text COLLATE "C" with CHECK ("name" IS NULL OR "name"::jsonb IS NOT NULL): what is no JSON, or cannot be taken
 *                out of it as a text, never gets in, so that no value can make a query fail
 *
 * All constants come with their types, and no question mark stands here but the placeholders.
 */
export const postgresDialect: Dialect = {
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
  opaque: (text) => sql`(${text} || '')`,
  geoDistance: postgresDistance,
  strftime: postgresTime,
};

const operators: Readonly<Record<Comparator, Sql>> = {
  '=': sql`=`,
  IS: sql`IS NOT DISTINCT FROM`,
  'IS NOT': sql`IS DISTINCT FROM`,
  '<': sql`<`,
  '<=': sql`<=`,
  '>': sql`>`,
  '>=': sql`>=`,
};

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
  if (operand.prefix !== undefined && typeof constant === 'string')
    return comparePrefix(operand, comparator, { constant, prefix: operand.prefix });
  if (constant !== null) return sql`${operand.sql} ${operators[comparator]} ${typed(constant, operand)}`;
  // An index serves this, and not IS NOT DISTINCT FROM NULL.
  const indexed = operand.prefix?.sql ?? operand.sql;
  return comparator === 'IS NOT' ? sql`${indexed} IS NOT NULL` : sql`${indexed} IS NULL`;
}

/**
 * Beside a text that is shorter than the beginnings, these compare as the whole texts do: whether a text goes on behind its beginning
 * is decided before. For a longer one the beginnings say where in the index to look, and the whole text what is found.
 */
function comparePrefix(
  operand: Operand,
  comparator: Comparator,
  { constant, prefix }: { readonly constant: string; readonly prefix: Prefix },
): Sql {
  // Code units are never fewer than code points.
  if (constant.length < prefix.length)
    return sql`${prefix.sql} ${operators[comparator]} ${typed(constant, operand)}`;
  const compared = sql`${operand.sql} ${operators[comparator]} ${typed(constant, operand)}`;
  const bound = prefixComparators[comparator];
  if (bound === undefined) return compared;
  const start = sql`left(${constant}::text, ${literal(prefix.length)})`;
  return sql`(${prefix.sql} ${operators[bound]} ${start} AND ${compared})`;
}

/** What holds of the beginnings wherever it holds of the texts. */
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
  if (typeof constant === 'string') return sql`${constant}::text`;
  // An index on a smallint is of no use to a double precision.
  const isBit = kind === 'bool' && (constant === 0 || constant === 1);
  return isBit ? sql`${constant}::smallint` : sql`${constant}::double precision`;
}

/** A value is compared with its like; every number stands before every text, whatever they are. */
function compareJson(operand: Operand, comparator: Comparator, constant: Constant): Sql {
  const value = valueOf(operand);
  const { number = noNumber, text = noText } = value;
  const compareParts = (): Sql => {
    if (constant === null) {
      return comparator === 'IS NOT'
        ? sql`${number} IS NOT NULL OR ${text} IS NOT NULL`
        : sql`${number} IS NULL AND ${text} IS NULL`;
    }
    const [like, unlike] = typeof constant === 'string' ? [text, number] : [number, text];
    const compared = sql`${like} ${operators[comparator]} ${typed(constant, operand)}`;
    if (comparator === 'IS' || comparator === 'IS NOT') return compared;
    const isTrueOfUnlike = comparator.startsWith(typeof constant === 'string' ? '<' : '>');
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

/** A number beside a number, a text beside a text, and a value of json whatever it is beside another: SQLite's affinities. */
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
  // What is left for ELSE is a number and a text.
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
  // Nothing is coalesced to a number, so that the two are equal only where both are empty.
  const areEmpty = sql`(COALESCE(${text.sql}, '') = '' AND ${number.sql} IS NULL)`;
  return isEqual ? areEmpty : sql`NOT ${areEmpty}`;
}

function like({ subject, pattern, isNegated }: LikeMatch): Sql {
  const operator = isNegated ? sql`NOT LIKE` : sql`LIKE`;
  const value = isOperand(subject) ? textOf(subject) : { text: sql`${String(subject)}::text` };
  const text = folded(value.text);
  if (isOperand(pattern)) {
    const found = textOf(pattern, 'right');
    const isShort = sql`octet_length(${found.text}) <= ${filterLimits.patternBytesMax}::integer`;
    const matches = sql`${text} ${operator} ('%' || ${folded(found.text)} || '%')`;
    return withSources(sql`(${isShort} AND ${matches})`, value, found);
  }
  if (!endsInEscape(pattern))
    return withSources(sql`${text} ${operator} ${lowerAscii(pattern)}::text`, value);
  // It matches nothing, on SQLite; PostgreSQL would fail.
  const never = sql`CASE WHEN ${value.text} IS NOT NULL THEN ${isNegated ? sql`TRUE` : sql`FALSE`} END`;
  return withSources(never, value);
}

function lower(operand: Operand): Operand {
  const value = textOf(operand);
  return { sql: sql`(${withSources(folded(value.text), value)})`, kind: 'text' };
}

/** With a `\` that escapes nothing. */
function endsInEscape(pattern: string): boolean {
  return /(?<!\\)(?:\\\\)*\\$/.test(pattern);
}

/** In the collation "C" lower() knows the letters of ASCII and no others, whatever the database was made with. */
function folded(text: Sql): Sql {
  return sql`lower((${text}) COLLATE "C")`;
}

function orderBy(operand: Operand, isDescending: boolean): Sql {
  const direction = isDescending ? sql` DESC NULLS LAST` : sql` NULLS FIRST`;
  const value = valueOf(operand);
  const { number, text } = value;
  // Numbers have no text and so stand where NULL does, before all texts or behind them.
  if (number !== undefined && text !== undefined)
    return sql`${withSources(text, value)}${direction}, ${withSources(number, value)}${direction}`;
  // The word for where NULL stands would keep an index of the usual order from serving a column that never is.
  const end = operand.isNeverNull === true ? (isDescending ? sql` DESC` : sql``) : direction;
  const whole = sql`${operand.sql}${end}`;
  return operand.prefix === undefined ? whole : sql`${operand.prefix.sql}${end}, ${whole}`;
}
