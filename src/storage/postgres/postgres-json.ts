import { literal, sql, type Sql } from '../../sql/sql.ts';
import type { JsonWriter } from '../database.ts';

/** Beyond this, whole numbers have an exponent somewhere or are no whole numbers any more. */
const wholeMax = sql`1e15`;

/** `to_json` escapes what JSON.stringify escapes, and in the same way; lone surrogates are never stored. */
export const postgresJson: JsonWriter = {
  value: (kind, column, ofNothing) => {
    switch (kind) {
      case 'text':
        return sql`to_json(${column})::text`;
      case 'bool':
        return sql`CASE WHEN ${column} = 1 THEN 'true' ELSE 'false' END`;
      case 'json':
        return sql`coalesce(nullif(${column}, ''), ${literal(ofNothing)})`;
      default:
        return numberText(column);
    }
  },
  concat,
};

/**
 * From 2^54 on there are decimals of 17 digits or fewer that lie in the middle between two numbers. Half of a number's last place is a
 * power of 2 times an odd number below 2^54, which 5^24 does not divide: no more than 23 zeros stand behind such a decimal.
 */
const middlesMin = sql`18014398509481984`;
const middlesEnd = sql`1e40`;

/**
 * As JavaScript writes numbers: both write the fewest digits that mean the same, but JavaScript has exponents below 1e-6 and from
 * 1e21 on, PostgreSQL below 1e-4 and from 1e15 on, with two digits at least.
 */
function numberText(column: Sql): Sql {
  return sql`CASE WHEN ${column} = trunc(${column}) AND abs(${column}) < ${wholeMax} THEN ${column}::bigint::text
    WHEN abs(${column}) >= 1e-4 AND abs(${column}) < ${wholeMax} THEN ${column}::text
    WHEN abs(${column}) >= ${middlesMin} AND abs(${column}) < 1e21 THEN ${shortestText(column)}::numeric::text
    WHEN abs(${column}) >= ${middlesMin} AND abs(${column}) < ${middlesEnd} THEN ${shortestText(column)}
    WHEN abs(${column}) >= 1e-6 AND abs(${column}) < 1e21 THEN ${column}::text::numeric::text
    ELSE replace(${column}::text, 'e-0', 'e-') END`;
}

/**
 * PostgreSQL does not write a decimal in the middle between two numbers, which is read as the even one of them, and takes more digits:
 * of 1e23 it writes 9.999999999999999e+22. Such a decimal has 16 digits at most, and all of them are zeros behind it.
 */
function shortestText(column: Sql): Sql {
  const written = (number: Sql, pattern: Sql): Sql =>
    sql`regexp_replace(ltrim(to_char(${number}, ${pattern})), '\\.*0*e', 'e')`;
  // The cast leaves 15 digits.
  const to15 = written(sql`${column}::numeric`, sql`'9.99999999999999EEEE'`);
  const to16 = written(sql`${column}::text::numeric`, sql`'9.999999999999999EEEE'`);
  const isSame = (text: Sql): Sql => sql`${text}::double precision = ${column}`;
  return sql`(CASE WHEN ${isSame(to15)} THEN ${to15} WHEN ${isSame(to16)} THEN ${to16} ELSE ${column}::text END)`;
}

/** As a tree of halves: each `||` copies what stands to its left, which would be the whole row for each of its fields. */
function concat(parts: readonly Sql[]): Sql {
  const [first = literal('')] = parts;
  if (parts.length <= 1) return first;
  const half = Math.ceil(parts.length / 2);
  return sql`(${concat(parts.slice(0, half))} || ${concat(parts.slice(half))})`;
}
