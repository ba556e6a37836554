import { AppError } from '../base/errors.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Database, Engine, Transaction } from './database.ts';

/** One step of a schema, applied once and never changed afterwards: a correction is a new step. */
export interface Migration {
  readonly name: string;
  readonly statements: (engine: Engine) => readonly Sql[];
}

/**
 * Brings a database to the last of `migrations`, all missing steps in one transaction, in order. Refuses, before it writes
 * anything, a database that a newer version has already taken further.
 */
export async function migrate(database: Database, migrations: readonly Migration[]): Promise<void> {
  const table = logTable(database.engine);
  if ((await appliedCount(database, table)) === migrations.length) return;
  await database.write(
    async (tx) => {
      await prepare(tx, table);
      const applied = Number((await tx.get(sql`SELECT count(*) AS applied FROM ${table}`))?.['applied']);
      if (applied > migrations.length)
        throw new AppError('unavailable', newerSchema(applied, migrations.length));
      for (const [index, migration] of migrations.slice(applied).entries()) {
        for (const statement of migration.statements(database.engine)) await tx.run(statement);
        const number = applied + index + 1;
        await tx.run(sql`INSERT INTO ${table} (number, name) VALUES (${number}, ${migration.name})`);
      }
    },
    { isExclusive: true },
  );
}

function logTable(engine: Engine): Sql {
  return engine === 'sqlite' ? sql`"$migration"` : sql`chancery.migration`;
}

/** 0 for a database without the table. */
async function appliedCount(database: Database, table: Sql): Promise<number> {
  const found =
    database.engine === 'sqlite'
      ? sql`SELECT 1 FROM sqlite_schema WHERE name = '$migration'`
      : sql`SELECT 1 WHERE to_regclass('chancery.migration') IS NOT NULL`;
  if ((await database.get(found)) === undefined) return 0;
  return Number((await database.get(sql`SELECT count(*) AS applied FROM ${table}`))?.['applied']);
}

/** On PostgreSQL all nodes come at once, and whichever is first migrates: the others wait for its lock and find nothing to do. */
async function prepare(tx: Transaction, table: Sql): Promise<void> {
  if (tx.names.engine === 'postgres') {
    await tx.get(sql`SELECT pg_advisory_xact_lock(${migrationLock})`);
    await tx.run(sql`CREATE SCHEMA IF NOT EXISTS chancery`);
  }
  await tx.run(sql`CREATE TABLE IF NOT EXISTS ${table} (number INTEGER PRIMARY KEY, name TEXT NOT NULL)`);
}

/** Any number that nothing else locks: the letters `chancery` read as one. */
const migrationLock = 0x6368616e63n;

function newerSchema(applied: number, known: number): string {
  return `The data was written by a newer version of Chancery (schema ${applied}, this version knows ${known}).`;
}
