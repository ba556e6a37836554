import { sql, type Sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';

export interface LogRow {
  /** Ids sort in order of time. */
  readonly id: string;
  readonly created: string;
  readonly level: number;
  readonly message: string;
  /** JSON. */
  readonly data: string;
}

/** Appends rows, passed as one JSON parameter so that the statement is the same for any number of them. */
export async function appendToLog(database: Database, rows: readonly LogRow[]): Promise<void> {
  const { names } = database;
  const json = JSON.stringify(
    rows.map(({ id, created, level, message, data }) => [id, created, level, message, data]),
  );
  const each: Sql =
    names.engine === 'sqlite'
      ? sql`json_each(${json})`
      : sql`json_array_elements(CAST(${json} AS json)) AS given (value)`;
  await database.write((tx) =>
    tx.run(sql`
      INSERT INTO ${names.table('$log')} (${names.scopeColumn}id, created, level, message, data)
      SELECT ${names.scopeValue}value ->> 0, value ->> 1, CAST(value ->> 2 AS integer), value ->> 3, value ->> 4 FROM ${each}`),
  );
}

/** Deletes rows created before this time, and all but the newest `rowsMax`. */
export async function trimLog(
  database: Database,
  { before, rowsMax }: { readonly before: string; readonly rowsMax?: number },
): Promise<void> {
  const { names } = database;
  const table = names.table('$log');
  const isOld = sql`created < ${before}`;
  const found = await database.tuples(sql`SELECT 1 FROM ${table} WHERE ${names.scope} AND ${isOld} LIMIT 1`);
  // Looks first: a DELETE that finds nothing would cost every batch another transaction.
  if (found.length > 0)
    await database.write((tx) => tx.run(sql`DELETE FROM ${table} WHERE ${names.scope} AND ${isOld}`));
  if (rowsMax === undefined) return;
  const [last] = await database.tuples(
    sql`SELECT id FROM ${table} WHERE ${names.scope} ORDER BY id DESC LIMIT 1 OFFSET ${rowsMax}`,
  );
  if (last === undefined) return;
  const id = String(last[0]);
  await database.write((tx) => tx.run(sql`DELETE FROM ${table} WHERE ${names.scope} AND id <= ${id}`));
}

export async function clearLog(database: Database): Promise<void> {
  const { names } = database;
  await database.write((tx) => tx.run(sql`DELETE FROM ${names.table('$log')} WHERE ${names.scope}`));
}
