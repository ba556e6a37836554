import type { TestContext } from 'node:test';
import { changeByKey, lookupToChange, sql, withValues } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';
import { openPostgresDatabase } from './postgres-database.ts';

export interface Counters {
  readonly database: Database;
  /** Another handle of the same rows, as another node would have. */
  readonly other: Database;
  readonly url: string;
}

export async function openCounters(t: TestContext, ids: readonly string[]): Promise<Counters> {
  const { database, open, url } = await openPostgresDatabase(t);
  const table = database.names.collectionTable('counter');
  const create = sql`CREATE TABLE ${table} (id text COLLATE "C" UNIQUE, count bigint, code text UNIQUE)`;
  await database.write((tx) => tx.run(create), { isExclusive: true });
  await database.write(async (tx) => {
    for (const id of ids) await tx.run(sql`INSERT INTO ${table} (id, count) VALUES (${id}, 0)`);
  });
  return { database, other: open(), url };
}

/** Reads a count and writes it plus one: without isolation, two concurrent calls would lose one increment. */
export function increment(database: Database, id: string): Promise<number> {
  return database.write(
    async (tx) => {
      const table = tx.names.collectionTable('counter');
      const lookup = sql`SELECT count FROM ${table} WHERE id = ${id}${tx.names.locks.forUpdate}`;
      const [row] = await tx.tuples(lookupToChange(lookup));
      if (row === undefined) throw new Error(`there is no ${id}`);
      const count = Number(row[0]) + 1;
      const change = changeByKey(table, [[sql`count`, sql`${null}`]], sql`id`);
      await tx.run(withValues(change, [count, id]));
      return count;
    },
    { changes: id },
  );
}

export async function counted(
  database: Database,
): Promise<{ readonly counts: object; readonly transactions: number }> {
  const rows = await database.tuples(
    sql`SELECT id, count, xmin::text FROM ${database.names.collectionTable('counter')} ORDER BY id`,
  );
  return {
    counts: Object.fromEntries(rows.map(([id, count]) => [id, count])),
    transactions: new Set(rows.map(([, , transaction]) => transaction)).size,
  };
}
