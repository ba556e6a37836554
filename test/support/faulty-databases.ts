import type { Database } from '../../src/storage/database.ts';
import { FaultyDatabase } from './faulty-database.ts';

/** For the parts of a service: every database that it opens, the default instance's first, can be told to fail. */
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
