import type { Store } from './store.ts';

/** So many rows in one transaction: its log is then reused instead of growing to the size of the table. */
const batchRows = 500_000;

/** What each column holds, as SQL over `n`, the number of the row from 1. */
export type Columns = Readonly<Record<string, string>>;

/**
 * Makes rows in the table of a collection by SQL alone: no events, no validation, which is the caller's duty. Each row gets an
 * id, if `columns` names none, that begins with the time as those of the service do, and was created a second after the one before.
 */
export async function fillTable(
  store: Store,
  table: string,
  { count, columns }: { readonly count: number; readonly columns: Columns },
): Promise<void> {
  const isSqlite = store.engine === 'sqlite';
  const id = isSqlite
    ? `printf('%08x', 1767225600 + n) || substr(lower(hex(randomblob(4))), 1, 7)`
    : `to_hex(1767225600 + n) || substr(gen_random_uuid()::text, 1, 7)`;
  const time = isSqlite
    ? `strftime('%Y-%m-%d %H:%M:%fZ', 1767225600 + n, 'unixepoch')`
    : `to_char(to_timestamp(1767225600 + n) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS"Z"')`;
  const all = { id, $revision: '1', created: time, updated: time, ...columns };
  const names = Object.keys(all).map((name) => `"${name}"`);
  const values = Object.values(all).join(', ');
  const statements = numbersOf(store.engine, count).map(
    (numbers) => `INSERT INTO "${table}" (${names.join(', ')}) SELECT ${values} FROM ${numbers}`,
  );
  // As autovacuum does within a minute or so, of which a run would see more or less. Their commits are on the disk by then, or it
  // would not note that everybody sees them, and a count would look each of them up in the table.
  if (!isSqlite) statements.push(`VACUUM ANALYZE "${table}"`);
  await store.run(...statements);
}

/** FROM items with the numbers `n` from 1 to `count`, one for each transaction that is to fill in rows. */
export function numbersOf(engine: Store['engine'], count: number): readonly string[] {
  return Array.from({ length: Math.ceil(count / batchRows) }, (_, batch) => {
    const [from, to] = [batch * batchRows + 1, Math.min(count, (batch + 1) * batchRows)];
    return engine === 'sqlite'
      ? `(WITH RECURSIVE s(n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM s WHERE n < ${to}) SELECT n FROM s)`
      : `generate_series(${from}, ${to}) AS n`;
  });
}
