import { AppError } from '../base/errors.ts';
import type { LogMembers } from '../base/logger.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Database, Engine, Reader, Transaction } from './database.ts';

/** One step of a schema, applied once and never changed afterwards: a correction is a new step. */
export interface Migration {
  readonly name: string;
  readonly statements: (engine: Engine) => readonly Sql[];
  /** Changes rows where statements alone cannot, after them. Returns notices for the operator. */
  readonly change?: (tx: Transaction) => Promise<readonly MigrationNotice[]>;
  /**
   * The fewest steps that a version of Chancery must know to work on a schema that has this step; by default, all up to and including
   * this one. A step whose additions older versions do not need admits fewer, so that old and new nodes of a rolling upgrade run
   * side by side. Whatever old versions still need is removed one release later. Where it depends on the data, it is evaluated before the
   * step runs; undefined is the default then.
   */
  readonly admits?: number | ((reader: Reader) => Promise<number | undefined>);
}

/** A line for the log of the service. */
export interface MigrationNotice {
  readonly message: string;
  readonly members: LogMembers;
}

export interface MigrateOptions {
  /** Awaited before a database is changed that is not new, with the number of its steps. */
  readonly beforeUpgrade?: (steps: number) => Promise<void>;
  /** Awaited before a step is taken that needs versions to know more steps than they had to. Rejects where such a version runs. */
  readonly requireAdmitted?: (reader: Reader, needed: number) => Promise<void>;
  /** Called after the commit. */
  readonly onNotice?: (notice: MigrationNotice) => void;
}

/**
 * Brings a database to the last of `migrations`: all missing steps in order, in one transaction. A database that a newer version has
 * migrated further is left as it is. If one of its steps does not admit this version, it is refused before anything is written.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  { beforeUpgrade, requireAdmitted, onNotice }: MigrateOptions = {},
): Promise<void> {
  const table = logTable(database.engine);
  if (await isDone(database, table, migrations)) return;
  const steps = await appliedCount(database, table);
  if (steps > 0) await beforeUpgrade?.(steps);
  const notices = await database.write(
    async (tx) => {
      await prepare(tx, table);
      // Another process may have been faster, and may know more.
      if (await isDone(tx, table, migrations)) return [];
      const applied = await appliedCount(tx, table);
      const all: MigrationNotice[] = [];
      let needed = await neededSteps(tx, table);
      for (const [index, step] of migrations.slice(applied).entries()) {
        const number = applied + index + 1;
        const admits = await admittedBy(step, number, tx);
        if (applied > 0 && admits > needed) await requireAdmitted?.(tx, admits);
        needed = Math.max(needed, admits);
        all.push(...(await apply(tx, step, { table, number, admits })));
      }
      return all;
    },
    { isExclusive: true },
  );
  for (const notice of notices) onNotice?.(notice);
}

/** Returns how many steps a version must know at least once this one is taken. */
async function admittedBy({ admits }: Migration, number: number, reader: Reader): Promise<number> {
  return (typeof admits === 'function' ? await admits(reader) : admits) ?? number;
}

async function apply(
  tx: Transaction,
  { name, statements, change }: Migration,
  { table, number, admits }: { readonly table: Sql; readonly number: number; readonly admits: number },
): Promise<readonly MigrationNotice[]> {
  for (const statement of statements(tx.names.engine)) await tx.run(statement);
  const notices = (await change?.(tx)) ?? [];
  await tx.run(sql`INSERT INTO ${table} (number, name, admits) VALUES (${number}, ${name}, ${admits})`);
  return notices;
}

/** True when there is nothing to migrate. Throws when it must not touch the schema. */
async function isDone(reader: Reader, table: Sql, migrations: readonly Migration[]): Promise<boolean> {
  const ownSteps = migrations.length;
  const applied = await appliedCount(reader, table);
  await requireSameKind(reader, table, { applied, first: migrations[0]?.name });
  if (applied <= ownSteps) return applied === ownSteps;
  const needed = await neededSteps(reader, table);
  if (ownSteps < needed) throw new AppError('unavailable', newerSchema(applied, needed, ownSteps));
  return true;
}

/** A version that knows more steps than this one also writes `admits`. */
async function neededSteps(reader: Reader, table: Sql): Promise<number> {
  const row = await reader.get(sql`SELECT max(admits) AS admits FROM ${table}`);
  return Number(row?.['admits'] ?? 0);
}

/** Returns how many steps the schema of a PostgreSQL database needs its nodes to know now. */
export function stepsNeeded(reader: Reader): Promise<number> {
  return neededSteps(reader, logTable('postgres'));
}

/** Throws when the schema began with another step: a file of another kind is in this place, and would be made unusable for its own. */
async function requireSameKind(
  reader: Reader,
  table: Sql,
  { applied, first }: { readonly applied: number; readonly first: string | undefined },
): Promise<void> {
  if (applied === 0) return;
  const row = await reader.get(sql`SELECT name FROM ${table} WHERE number = 1`);
  if (row?.['name'] !== first)
    throw new AppError('unavailable', 'This place holds other data: put each file back where it was.');
}

function logTable(engine: Engine): Sql {
  return engine === 'sqlite' ? sql`"$migration"` : sql`chancery.migration`;
}

/** Returns the number of applied steps; 0 for a database without the table of migrations. */
async function appliedCount(reader: Reader, table: Sql): Promise<number> {
  if ((await reader.get(findLog(reader))) === undefined) return 0;
  return Number((await reader.get(sql`SELECT count(*) AS applied FROM ${table}`))?.['applied']);
}

/** Finds the table of migrations. Another program's may have the same name, but hardly the same columns. */
function findLog({ names }: Reader): Sql {
  return names.engine === 'sqlite'
    ? sql`SELECT 1 FROM sqlite_schema WHERE name = '$migration'`
    : sql`SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('chancery.migration') AND attname = 'number'`;
}

/** Creates the table of migrations. On PostgreSQL several nodes may start at once: the first migrates, the others wait for its lock. */
async function prepare(tx: Transaction, table: Sql): Promise<void> {
  if (tx.names.engine === 'postgres') {
    await tx.get(sql`SELECT pg_advisory_xact_lock(${migrationLock})`);
    await tx.run(sql`CREATE SCHEMA IF NOT EXISTS chancery`);
    await requireOwnSchema(tx);
  }
  await tx.run(
    sql`CREATE TABLE IF NOT EXISTS ${table} (number INTEGER PRIMARY KEY, name TEXT NOT NULL, admits INTEGER)`,
  );
  // The first version, which knew one step, created the table without this column.
  if (tx.names.engine === 'postgres')
    await tx.run(sql`ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS admits INTEGER`);
  else if (
    (await tx.get(sql`SELECT 1 FROM pragma_table_info('$migration') WHERE name = 'admits'`)) === undefined
  )
    await tx.run(sql`ALTER TABLE ${table} ADD COLUMN admits INTEGER`);
}

/** Throws for a schema of our name that holds something and no table of migrations. */
async function requireOwnSchema(tx: Transaction): Promise<void> {
  if ((await tx.get(findLog(tx))) !== undefined) return;
  const foreign = await tx.get(
    sql`SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('chancery') LIMIT 1`,
  );
  if (foreign !== undefined)
    throw new AppError(
      'unavailable',
      'The database has a schema chancery that belongs to another program: use another database.',
    );
}

/** Any key that no other advisory lock uses: the letters `chanc` read as a number. */
const migrationLock = 0x6368616e63n;

function newerSchema(applied: number, needed: number, ownSteps: number): string {
  return `The data was written by a newer version of Chancery (schema ${applied}, for versions with schema ${needed}; this one has schema ${ownSteps}).`;
}
