import { literal, sql, type Sql } from '../../sql/sql.ts';
import type { JsonWriter } from '../database.ts';

/** From here on, PostgreSQL writes whole numbers with an exponent. */
const wholeMax = sql`1e15`;

/** JSON by PostgreSQL's own functions. `to_json` escapes exactly as JSON.stringify does; lone surrogates are never stored. */
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
 * The range in which a decimal of 17 digits or fewer can lie exactly half-way between two doubles. It begins at 2^54. It ends at 1e40,
 * because such a half-way point is a power of 2 times an odd number below 2^54, which 5^24 does not divide: the decimal has at most 17
 * digits and 23 zeros.
 */
const middlesMin = sql`18014398509481984`;
const middlesEnd = sql`1e40`;

/**
 * Writes a number as JavaScript does. Both write the fewest digits that read back as the same number. But JavaScript uses an exponent
 * below 1e-6 and from 1e21 on, PostgreSQL below 1e-4 and from 1e15 on, and there with at least two digits.
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
 * The shortest decimal, even one half-way between two doubles, which reads back as the even one. PostgreSQL avoids these and takes more
 * digits: it writes 1e23 as 9.999999999999999e+22. Such a decimal has at most 16 digits, followed by zeros.
 */
function shortestText(column: Sql): Sql {
  const written = (number: Sql, pattern: Sql): Sql =>
    sql`regexp_replace(ltrim(to_char(${number}, ${pattern})), '\\.*0*e', 'e')`;
  // The cast to numeric rounds to 15 digits.
  const to15 = written(sql`${column}::numeric`, sql`'9.99999999999999EEEE'`);
  const to16 = written(sql`${column}::text::numeric`, sql`'9.999999999999999EEEE'`);
  const isSame = (text: Sql): Sql => sql`${text}::double precision = ${column}`;
  return sql`(CASE WHEN ${isSame(to15)} THEN ${to15} WHEN ${isSame(to16)} THEN ${to16} ELSE ${column}::text END)`;
}

/** Concatenates as a balanced tree: each `||` copies its left operand, so a chain would copy the row again for each field. */
function concat(parts: readonly Sql[]): Sql {
  const [first = literal('')] = parts;
  if (parts.length <= 1) return first;
  const half = Math.ceil(parts.length / 2);
  return sql`(${concat(parts.slice(0, half))} || ${concat(parts.slice(half))})`;
}
