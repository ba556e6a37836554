import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';

/** The tables of a bench's only instance, behind the back of its server: millions of rows would take hours over HTTP. */
export interface Store {
  readonly engine: 'sqlite' | 'postgres';
  /** Runs statements, which name the instance's tables without a schema, each in a transaction of its own. */
  run(...statements: readonly string[]): Promise<void>;
  /** The first column of what a query finds. */
  texts(query: string): Promise<readonly string[]>;
}

export function openStore(directory: string, postgres: string | undefined): Store {
  return postgres === undefined ? sqliteStore(directory) : postgresStore(postgres);
}

function sqliteStore(directory: string): Store {
  const use = <Result>(work: (database: DatabaseSync) => Result): Promise<Result> => {
    const [instance = ''] = readdirSync(join(directory, 'instances'));
    const database = new DatabaseSync(join(directory, 'instances', instance, 'data.db'), { timeout: 10_000 });
    try {
      // What is filled in here need not survive a loss of power; an index that does not fit into memory is filled very slowly.
      database.exec(
        'PRAGMA synchronous = OFF; PRAGMA cache_size = -1500000; PRAGMA wal_autocheckpoint = 100000',
      );
      return Promise.resolve(work(database));
    } finally {
      // Or the server would find a log as large as the table.
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      database.close();
    }
  };
  return {
    engine: 'sqlite',
    run: (...statements) =>
      use((database) => {
        for (const statement of statements) database.exec(statement);
      }),
    texts: (query) =>
      use((database) =>
        database
          .prepare(query)
          .all()
          .map((row) => String(Object.values(row)[0])),
      ),
  };
}

function postgresStore(url: string): Store {
  const use = async <Result>(work: (client: Client) => Promise<Result>): Promise<Result> => {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      const { rows } = await client.query<{ schemaname: string }>(
        `SELECT schemaname FROM pg_tables WHERE tablename = '_superusers'`,
      );
      await client.query(
        `SET search_path = ${client.escapeIdentifier(rows[0]?.schemaname ?? '')}, pg_catalog`,
      );
      return await work(client);
    } finally {
      await client.end();
    }
  };
  return {
    engine: 'postgres',
    run: (...statements) =>
      use(async (client) => {
        for (const statement of statements) await client.query(statement);
      }),
    texts: (query) =>
      use(async (client) => {
        const { rows } = await client.query<unknown[]>({ text: query, rowMode: 'array' });
        return rows.map(([value]) => String(value));
      }),
  };
}
