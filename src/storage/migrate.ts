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
  if ((await appliedCount(database)) === migrations.length) return;
  await database.write(
    async (tx) => {
      await tx.run(
        sql`CREATE TABLE IF NOT EXISTS "$migration" (number INTEGER PRIMARY KEY, name TEXT NOT NULL)`,
      );
      const applied = Number((await tx.get(sql`SELECT count(*) AS applied FROM "$migration"`))?.['applied']);
      if (applied > migrations.length)
        throw new AppError('unavailable', newerSchema(applied, migrations.length));
      for (const [index, migration] of migrations.slice(applied).entries()) {
        await apply(tx, migration, { number: applied + index + 1, engine: database.engine });
      }
    },
    { isExclusive: true },
  );
}

/** 0 for a database without the table. */
async function appliedCount(database: Database): Promise<number> {
  const table = await database.get(sql`SELECT 1 FROM sqlite_schema WHERE name = '$migration'`);
  if (table === undefined) return 0;
  return Number((await database.get(sql`SELECT count(*) AS applied FROM "$migration"`))?.['applied']);
}

async function apply(
  tx: Transaction,
  migration: Migration,
  step: { readonly number: number; readonly engine: Engine },
): Promise<void> {
  for (const statement of migration.statements(step.engine)) await tx.run(statement);
  await tx.run(sql`INSERT INTO "$migration" (number, name) VALUES (${step.number}, ${migration.name})`);
}

function newerSchema(applied: number, known: number): string {
  return `The data was written by a newer version of Chancery (schema ${applied}, this version knows ${known}).`;
}
