import { sql } from '../../sql/sql.ts';
import type { SqliteConnection } from './sqlite-connection.ts';

const DATA_VERSION = sql`PRAGMA data_version`;

/** Of the connection that asks: another number after each commit of any other (https://www.sqlite.org/pragma.html#pragma_data_version). */
export function dataVersion(connection: SqliteConnection): unknown {
  return connection.tuples(DATA_VERSION)[0]?.[0];
}
