import { AppError } from '../base/errors.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Database, Engine, Reader, Transaction } from './database.ts';

/** One step of a schema, applied once and never changed afterwards: a correction is a new step. */
export interface Migration {
  readonly name: string;
  readonly statements: (engine: Engine) => readonly Sql[];
  /**
   * How many steps a version must know to work on the schema that has this one: so many and no fewer. Not said, it is all up to
   * and with this step. A step that only adds what older versions never miss says fewer, so that the nodes of a rolling upgrade
   * overlap; what they do miss is taken away one release later, when nobody is left who needs it.
   */
  readonly admits?: number;
}

/**
 * Brings a database to the last of `migrations`, all missing steps in one transaction, in order. One that a newer version has
 * taken further is left as it is: good enough if every step admits this version, else refused before anything is written.
 */
export async function migrate(database: Database, migrations: readonly Migration[]): Promise<void> {
  const table = logTable(database.engine);
  if (await isDone(database, table, migrations.length)) return;
  await database.write(
    async (tx) => {
      await prepare(tx, table);
      // Another process may have been faster, and may know more.
      if (await isDone(tx, table, migrations.length)) return;
      const applied = await appliedCount(tx, table);
      for (const [index, { name, statements, admits }] of migrations.slice(applied).entries()) {
        for (const statement of statements(database.engine)) await tx.run(statement);
        const number = applied + index + 1;
        await tx.run(
          sql`INSERT INTO ${table} (number, name, admits) VALUES (${number}, ${name}, ${admits ?? number})`,
        );
      }
    },
    { isExclusive: true },
  );
}

/** Whether a version that knows so many steps finds nothing to do. Throws when it must not touch the schema. */
async function isDone(reader: Reader, table: Sql, known: number): Promise<boolean> {
  const applied = await appliedCount(reader, table);
  if (applied <= known) return applied === known;
  // Whoever applied a step that is not known here has also written this column.
  const row = await reader.get(sql`SELECT max(admits) AS admits FROM ${table}`);
  const needed = Number(row?.['admits']);
  if (known < needed) throw new AppError('unavailable', newerSchema(applied, needed, known));
  return true;
}

function logTable(engine: Engine): Sql {
  return engine === 'sqlite' ? sql`"$migration"` : sql`chancery.migration`;
}

/** 0 for a database without the table. */
async function appliedCount(reader: Reader, table: Sql): Promise<number> {
  const found =
    reader.names.engine === 'sqlite'
      ? sql`SELECT 1 FROM sqlite_schema WHERE name = '$migration'`
      : sql`SELECT 1 WHERE to_regclass('chancery.migration') IS NOT NULL`;
  if ((await reader.get(found)) === undefined) return 0;
  return Number((await reader.get(sql`SELECT count(*) AS applied FROM ${table}`))?.['applied']);
}

/** On PostgreSQL all nodes come at once, and whichever is first migrates: the others wait for its lock and find nothing to do. */
async function prepare(tx: Transaction, table: Sql): Promise<void> {
  if (tx.names.engine === 'postgres') {
    await tx.get(sql`SELECT pg_advisory_xact_lock(${migrationLock})`);
    await tx.run(sql`CREATE SCHEMA IF NOT EXISTS chancery`);
  }
  await tx.run(
    sql`CREATE TABLE IF NOT EXISTS ${table} (number INTEGER PRIMARY KEY, name TEXT NOT NULL, admits INTEGER)`,
  );
  // Made before there was this column: by a version that knew of one step.
  if (tx.names.engine === 'postgres')
    await tx.run(sql`ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS admits INTEGER`);
  else if (
    (await tx.get(sql`SELECT 1 FROM pragma_table_info('$migration') WHERE name = 'admits'`)) === undefined
  )
    await tx.run(sql`ALTER TABLE ${table} ADD COLUMN admits INTEGER`);
}

/** Any number that nothing else locks: the letters `chancery` read as one. */
const migrationLock = 0x6368616e63n;

function newerSchema(applied: number, needed: number, known: number): string {
  return `The data was written by a newer version of Chancery (schema ${applied}, for versions that know ${needed}, and this one knows ${known}).`;
}
