import { Buffer } from 'node:buffer';
import { identifier, joinSql, literal, sql, withValues, type Sql, type SqlValue } from '../../sql/sql.ts';
import type { GivenColumn, Tuple } from '../database.ts';

/** The FROM item of each list of columns. */
const made = new WeakMap<readonly GivenColumn[], Sql>();

/** See `Names.given`: the rows are sent as JSON, each as an array, with bytes as hexadecimal digits. */
export function sqliteGiven(columns: readonly GivenColumn[], rows: readonly Tuple[]): Sql {
  let given = made.get(columns);
  if (given === undefined) made.set(columns, (given = makeGiven(columns)));
  return withValues(given, [JSON.stringify(rows.map((row) => row.map(toJson)))]);
}

function makeGiven(columns: readonly GivenColumn[]): Sql {
  const values = columns.map(([name, kind], place) => {
    const value = sql`value ->> ${literal(place)}`;
    return sql`${kind === 'bytes' ? sql`unhex(${value})` : value} AS ${identifier(name)}`;
  });
  return sql`(SELECT ${joinSql(values, ', ')} FROM json_each(${null})) AS given`;
}

function toJson(value: SqlValue): SqlValue {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  // As where a text is bound: SQLite would keep half a surrogate pair, which is no UTF-8.
  return typeof value === 'string' ? value.toWellFormed() : value;
}
