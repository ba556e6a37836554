import type { Instance } from '../../src/instances/instance.ts';
import { sql, type Sql } from '../../src/sql/sql.ts';
import type { Row } from '../../src/storage/database.ts';
import type { InternalTable } from '../../src/storage/internal-table.ts';

/** All rows of a table that a comparison looks at, and the columns that tell them apart. */
interface StoredTable {
  readonly name: string;
  readonly from: Sql;
  readonly columns?: Sql;
  readonly key: readonly string[];
}

/** Returns all rows that an instance stores by their table and key, except for what its own timers change. */
export async function storedRows({
  database,
  collections,
}: Pick<Instance, 'database' | 'collections'>): Promise<Readonly<Record<string, Row>>> {
  const { names } = database;
  const own = (name: InternalTable, key: readonly string[]): StoredTable => ({
    name,
    from: sql`${names.table(name)} WHERE ${names.instance.condition}`,
    key,
  });
  const settings = own('$instance_setting', ['name']);
  const tables: readonly StoredTable[] = [
    own('$collection', ['id']),
    own('$endpoint', ['id']),
    own('$event', ['id']),
    own('$idempotency', ['id']),
    own('$secret', ['collection', 'record', 'name']),
    // Up to where the log is decided for accounts is noted a moment after the events.
    { ...settings, from: sql`${settings.from} AND name <> 'decided'` },
    // Only these columns: the state of a delivery and the last use of a key change with time.
    { ...own('$delivery', ['event', 'endpoint']), columns: sql`event, endpoint` },
    { ...own('$api_key', ['id']), columns: sql`id, digest, scopes` },
    { ...own('$portal_link', ['id']), columns: sql`id, digest` },
    own('$setup_token', ['digest']),
    ...['notes', 'users', '_superusers'].map((name) => ({
      name,
      from: sql`${names.collectionTable(collections.get(name).name)}`,
      key: ['id'],
    })),
  ];
  const rows: Record<string, Row> = {};
  for (const { name, from, columns = sql`*`, key } of tables)
    for (const row of await database.all(sql`SELECT ${columns} FROM ${from}`)) {
      const shown = shownOf(row);
      rows[[name, ...key.map((column) => shown[column])].join(' ')] = shown;
    }
  return rows;
}

/** Returns a row with bytes as their characters in Latin-1, since JSON would write each as a member. */
function shownOf(row: Row): Row {
  const shown = Object.entries(row).map(([name, value]) => {
    if (value instanceof Uint8Array) return [name, Buffer.from(value).toString('latin1')] as const;
    return [name, typeof value === 'bigint' ? String(value) : value] as const;
  });
  return Object.fromEntries(shown);
}
