import type { Database } from '../../src/storage/database.ts';
import { FaultyDatabase } from './faulty-database.ts';

/** Parts for a service whose databases can all be told to fail; that of the default instance comes first. */
export function faultyDatabases(): {
  readonly databases: readonly FaultyDatabase[];
  readonly wrapDatabase: (plain: Database) => Database;
} {
  const databases: FaultyDatabase[] = [];
  const wrapDatabase = (plain: Database): Database => {
    const database = new FaultyDatabase(plain);
    databases.push(database);
    return database;
  };
  return { databases, wrapDatabase };
}
