import { literal, sql, type Sql } from '../sql/sql.ts';
import type { JsonWriter } from './database.ts';

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
 * As JavaScript writes numbers: both write the fewest digits that mean the same, but JavaScript has exponents below 1e-6 and from
 * 1e21 on, PostgreSQL below 1e-4 and from 1e15 on, with two digits at least.
 */
function numberText(column: Sql): Sql {
  return sql`CASE WHEN ${column} = trunc(${column}) AND abs(${column}) < ${wholeMax} THEN ${column}::bigint::text
    WHEN abs(${column}) >= 1e-4 AND abs(${column}) < ${wholeMax} THEN ${column}::text
    WHEN abs(${column}) >= 1e-6 AND abs(${column}) < 1e21 THEN ${column}::text::numeric::text
    ELSE replace(${column}::text, 'e-0', 'e-') END`;
}

/** As a tree of halves: each `||` copies what stands to its left, which would be the whole row for each of its fields. */
function concat(parts: readonly Sql[]): Sql {
  const [first = literal('')] = parts;
  if (parts.length <= 1) return first;
  const half = Math.ceil(parts.length / 2);
  return sql`(${concat(parts.slice(0, half))} || ${concat(parts.slice(half))})`;
}
