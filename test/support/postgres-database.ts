import type { TestContext } from 'node:test';
import type { Database } from '../../src/storage/database.ts';
import { openPostgres, type PostgresOptions } from '../../src/storage/postgres/postgres-database.ts';
import {
  openPostgresPool,
  type PostgresPool,
  type PostgresPoolOptions,
} from '../../src/storage/postgres/postgres-pool.ts';
import { atEnd } from './at-end.ts';
import { ask, openTestPostgres } from './postgres.ts';

/** The schema of every instance that tests open. */
export const testSchema = 'i_test';

export interface TestPostgresDatabase {
  readonly database: Database;
  readonly pool: PostgresPool;
  readonly url: string;
  /** Opens another handle of the same instance, as another process would. */
  readonly open: (options?: Partial<PostgresOptions>) => Database;
}

/** Opens an instance with an empty schema in an empty database of the process's server, with a pool of its own; closed with the test. */
export async function openPostgresDatabase(
  t: TestContext,
  { url, ...options }: Partial<PostgresPoolOptions> = {},
): Promise<TestPostgresDatabase> {
  const address = url ?? (await createInstanceDatabase());
  const pool = await openPostgresPool({ url: address, max: 8, ...options });
  atEnd(t, () => pool.stop());
  const open = (more: Partial<PostgresOptions> = {}): Database => {
    const database = openPostgres({ pool, schema: testSchema, instanceId: 'test', ...more });
    atEnd(t, () => database.stop());
    return database;
  };
  return { database: open(), pool, url: address, open };
}

/** Creates a database with the schemas that the product's statements name. */
export async function createInstanceDatabase(): Promise<string> {
  const url = await (await openTestPostgres()).createDatabase();
  await ask(url, `CREATE SCHEMA ${testSchema}; CREATE SCHEMA chancery`);
  return url;
}
