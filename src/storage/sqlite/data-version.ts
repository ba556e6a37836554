import { sql } from '../../sql/sql.ts';
import type { SqliteConnection } from './sqlite-connection.ts';

const DATA_VERSION = sql`PRAGMA data_version`;

/** A number that changes with each commit of any other connection (https://www.sqlite.org/pragma.html#pragma_data_version). */
export function dataVersion(connection: SqliteConnection): unknown {
  return connection.tuples(DATA_VERSION)[0]?.[0];
}
