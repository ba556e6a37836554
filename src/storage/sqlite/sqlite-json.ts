import { identifier, joinSql, literal, sql, type Sql } from '../../sql/sql.ts';
import type { JsonWriter } from '../database.ts';

/** The function that every connection has for numbers that SQLite would write otherwise than JSON.stringify. */
export const jsonNumber = '$json_number';

/** A function of SQLite takes at most 1,000 arguments, and a collection may have 500 fields. */
const partsMax = 500;

/** Beyond this, whole numbers have an exponent somewhere or are no whole numbers any more. */
const wholeMax = sql`9e15`;

/** `json_quote` escapes what JSON.stringify escapes, and in the same way; lone surrogates are never stored. */
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
