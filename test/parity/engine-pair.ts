import { DatabaseSync } from 'node:sqlite';
import { Client, type CustomTypesConfig, types } from 'pg';
import type { Dialect } from '../../src/filters/dialect.ts';
import { postgresDialect } from '../../src/filters/postgres-dialect.ts';
import { sqliteDialect } from '../../src/filters/sqlite-dialect.ts';
import {
  foldFunction,
  identifier,
  joinSql,
  likeFunction,
  realTextFunction,
  sql,
  type Sql,
  type SqlValue,
} from '../../src/sql/sql.ts';
import type { Engine, Reader, Tuple } from '../../src/storage/database.ts';
import { joinsInOrder } from '../../src/storage/postgres/postgres-transaction.ts';
import { hasNoJoinOrder } from '../../src/storage/postgres/postgres-errors.ts';
import { jsonNumber, sqliteNames } from '../../src/storage/sqlite/sqlite-names.ts';
import { ask, openTestPostgres } from '../support/postgres.ts';
import type { Column, World } from './world.ts';

/** One engine with the table `things` of one world at a time. */
export interface ParityEngine {
  readonly engine: Engine;
  readonly dialect: Dialect;
  readonly reader: Reader;
  /** Rows begin with the id, then come the columns. */
  makeTable(world: Pick<World, 'columns'>, rows: readonly (readonly SqlValue[])[]): Promise<void>;
  stop(): Promise<void>;
}

export type EnginePair = readonly [sqlite: ParityEngine, postgres: ParityEngine];

export async function openEnginePair(): Promise<EnginePair> {
  return [openSqliteEngine(), await openPostgresEngine()];
}

function openSqliteEngine(): ParityEngine {
  const database = new DatabaseSync(':memory:');
  database.function(realTextFunction.name, realTextFunction.call);
  database.function(jsonNumber, (number) => JSON.stringify(number));
  database.function(likeFunction.name, likeFunction.call);
  database.function(foldFunction.name, foldFunction.call);
  const tuples = async ({ text, values }: Sql): Promise<Tuple[]> => {
    const statement = database.prepare(text);
    statement.setReturnArrays(true);
    // With arrays asked for, rows are arrays; the types of node:sqlite do not follow.
    return statement.all(...values) as unknown as Tuple[];
  };
  return {
    engine: 'sqlite',
    dialect: sqliteDialect,
    reader: readerOf(tuples),
    makeTable: async ({ columns }, rows) => {
      database.exec('DROP TABLE IF EXISTS things');
      await tuples(
        sql`CREATE TABLE things ("$position" INTEGER PRIMARY KEY AUTOINCREMENT, ${definitions(columns, sqliteTypes)}) STRICT`,
      );
      for (const statement of inserts(columns, rows)) await tuples(statement);
    },
    stop: async () => database.close(),
  };
}

async function openPostgresEngine(): Promise<ParityEngine> {
  const server = await openTestPostgres();
  const url = await createForeignDatabase(server.url);
  const client = new Client({ connectionString: url });
  await client.connect();
  const tuples = async ({ text, values }: Sql): Promise<Tuple[]> => {
    let count = 0;
    const numbered = text.replaceAll('?', () => `$${(count += 1)}`);
    const query = { text: numbered, values: [...values], rowMode: 'array', types: postgresTypes } as const;
    const run = async (): Promise<Tuple[]> => (await client.query<SqlValue[]>(query)).rows;
    try {
      return await run();
    } catch (error) {
      // As src/storage/postgres/read-batches.ts does it.
      if (!hasNoJoinOrder(error)) throw error;
      await client.query(`SET ${joinsInOrder}`);
      const rows = await run();
      await client.query('RESET join_collapse_limit');
      return rows;
    }
  };
  return {
    engine: 'postgres',
    dialect: postgresDialect,
    reader: readerOf(tuples),
    makeTable: async ({ columns }, rows) => {
      await client.query('DROP TABLE IF EXISTS things');
      await tuples(
        sql`CREATE TEMPORARY TABLE things ("$position" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ${definitions(columns, postgresColumn)})`,
      );
      for (const statement of inserts(columns, rows)) await tuples(statement);
    },
    stop: async () => {
      await client.end();
      await ask(server.url, `DROP DATABASE ${new URL(url).pathname.slice(1)}`);
    },
  };
}

/** Ordered as people order words, so that what forgets its collation is found out. */
async function createForeignDatabase(serverUrl: string): Promise<string> {
  const name = `parity_${process.pid}_${Date.now().toString(36)}`;
  await ask(serverUrl, `CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

function readerOf(tuples: Reader['tuples']): Reader {
  const unused = async (): Promise<never> => {
    throw new Error('a list reads tuples');
  };
  // The table has one name on both engines, and a list asks for no other.
  return { names: sqliteNames, tuples, search: tuples, all: unused, get: unused };
}

function definitions(columns: World['columns'], typeOf: (column: Column, name: Sql) => Sql): Sql {
  const rest = Object.entries(columns).map(([name, column]) => {
    const quoted = identifier(name);
    return sql`${quoted} ${typeOf(column, quoted)}${column.isNullable ? sql`` : sql` NOT NULL`}`;
  });
  const id = typeOf({ kind: 'text', isNullable: false }, sql`id`);
  return joinSql([sql`id ${id} NOT NULL UNIQUE`, ...rest], ', ');
}

function sqliteTypes({ kind }: Column): Sql {
  if (kind === 'number') return sql`REAL`;
  return kind === 'bool' ? sql`INTEGER` : sql`TEXT`;
}

function postgresColumn({ kind }: Column, name: Sql): Sql {
  if (kind === 'number') return sql`double precision`;
  if (kind === 'bool') return sql`smallint`;
  if (kind === 'json') return sql`text COLLATE "C" CHECK (${name} IS NULL OR ${name}::jsonb IS NOT NULL)`;
  return sql`text COLLATE "C"`;
}

function inserts(columns: World['columns'], rows: readonly (readonly SqlValue[])[]): readonly Sql[] {
  const names = joinSql([sql`id`, ...Object.keys(columns).map(identifier)], ', ');
  return rows.map((row) => {
    const values = joinSql(
      row.map((value) => sql`${value}`),
      ', ',
    );
    return sql`INSERT INTO things (${names}) VALUES (${values})`;
  });
}

/** Counts and positions as numbers, as node:sqlite gives them. */
const postgresTypes: CustomTypesConfig = {
  getTypeParser: (id, format): ((text: string) => unknown) => {
    if (id === types.builtins.INT8) return Number;
    // Rows come as text, so that a parser gets no other.
    return types.getTypeParser(id, format) as (text: string) => unknown;
  },
};
