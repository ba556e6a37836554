import { sql } from '../../sql/sql.ts';
import { SqliteConnection } from './sqlite-connection.ts';

/** The version of the SQLite inside this Node, as `[major, minor, patch]`. */
export function sqliteVersion(): readonly [number, number, number] {
  const connection = new SqliteConnection(':memory:', { isReadOnly: false, synchronous: 'FULL' });
  const text = String(connection.get(sql`SELECT sqlite_version() AS version`)?.['version']);
  connection.close();
  const [major = 0, minor = 0, patch = 0] = text.split('.').map(Number);
  return [major, minor, patch];
}
