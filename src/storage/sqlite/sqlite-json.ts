import { identifier, joinSql, literal, sql, type Sql } from '../../sql/sql.ts';
import type { JsonWriter } from '../database.ts';

/** The name of a function that every connection registers, for numbers that SQLite would write differently from JSON.stringify. */
export const jsonNumber = '$json_number';

/** A function of SQLite takes at most 1,000 arguments, and a collection may have 500 fields. */
const partsMax = 500;

/** From here on, JavaScript or SQLite writes whole numbers with an exponent, or they are not exact. */
const wholeMax = sql`9e15`;

/** JSON by SQLite's own functions. `json_quote` escapes exactly as JSON.stringify does; lone surrogates are never stored. */
export const sqliteJson: JsonWriter = {
  value: (kind, column, ofNothing) => {
    switch (kind) {
      case 'text':
        return sql`json_quote(${column})`;
      case 'bool':
        return sql`iif(${column} = 1, 'true', 'false')`;
      case 'json':
        return sql`coalesce(nullif(${column}, ''), ${literal(ofNothing)})`;
      default:
        return sql`CASE WHEN ${column} = CAST(${column} AS INTEGER) AND abs(${column}) < ${wholeMax} THEN CAST(${column} AS INTEGER) ELSE ${identifier(jsonNumber)}(${column}) END`;
    }
  },
  concat,
};

function concat(parts: readonly Sql[]): Sql {
  if (parts.length <= partsMax) return sql`concat(${joinSql(parts, ', ')})`;
  return sql`concat(${joinSql(parts.slice(0, partsMax - 1), ', ')}, ${concat(parts.slice(partsMax - 1))})`;
}
