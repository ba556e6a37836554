import type { TestContext } from 'node:test';
import { toTimestamp } from '../../src/base/timestamp.ts';
import { sql } from '../../src/sql/sql.ts';
import type { Database } from '../../src/storage/database.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { instanceMigrations } from '../../src/storage/migrations/instance-migrations.ts';
import { postgresMigrations } from '../../src/storage/migrations/postgres-migrations.ts';
import type { OpenDatabase } from './engines.ts';

/** Opens a database with the tables of an instance, all of them empty. */
export async function openLogDatabase(t: TestContext, open: OpenDatabase): Promise<Database> {
  const database = await open(t);
  await migrate(database, database.engine === 'sqlite' ? instanceMigrations : postgresMigrations);
  return database;
}

/** Returns the whole numbers from `first` to `last`. */
export function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Inserts deliveries for one or more endpoints at these positions of the log, without their events. */
export async function insertDeliveries(
  database: Database,
  endpoints: number | readonly number[],
  events: readonly number[],
): Promise<void> {
  const { names } = database;
  const scope = scopeValues(database);
  const into = sql`${names.table('$delivery')} (${names.instance.column}event, endpoint)`;
  const rows = events.flatMap((event) => [endpoints].flat().map((endpoint) => [...scope, event, endpoint]));
  await database.write((tx) => tx.insertRows(into, rows));
  await analyze(database, rows.length);
}

/** Does what the server would do by itself: without statistics, plans are made for a few rows. */
async function analyze(database: Database, rows: number): Promise<void> {
  const { names } = database;
  if (names.engine !== 'postgres' || rows < 1_000) return;
  for (const name of ['$delivery', '$outcome'] as const)
    await database.write((tx) => tx.run(sql`ANALYZE ${names.table(name)}`), { isExclusive: true });
}

export interface EventRow {
  readonly position: number;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly created: number;
}

/** Inserts events at these positions of the log. */
export async function insertEvents(database: Database, events: readonly EventRow[]): Promise<void> {
  const { names } = database;
  const overriding = names.engine === 'postgres' ? sql` OVERRIDING SYSTEM VALUE` : sql``;
  await database.write(async (tx) => {
    for (const { position, id, created } of events)
      await tx.run(sql`
        INSERT INTO ${names.table('$event')}
          (${names.instance.column}position, id, kind, collection, collection_name, record, revision, created, body)${overriding}
        VALUES (${names.instance.value}${position}, ${id}, 'record.create', 'c', 'posts', 'r', 1, ${toTimestamp(created)}, ${new Uint8Array([123, 125])})`);
  });
}

export interface OutcomeRow {
  readonly status?: string;
  readonly due?: number | null;
}

/** Inserts what became of deliveries: they were delivered, unless it is said otherwise. */
export async function insertOutcomes(
  database: Database,
  key: { readonly endpoint: number; readonly events: readonly number[] },
  { status = 'delivered', due = null }: OutcomeRow = {},
): Promise<void> {
  const { names } = database;
  const scope = scopeValues(database);
  const into = sql`${names.table('$outcome')} (${names.instance.column}event, endpoint, status, attempts, due, is_wide, cause, updated)`;
  const rows = key.events.map((event) => [...scope, event, key.endpoint, status, 1, due, 0, '', '']);
  await database.write((tx) => tx.insertRows(into, rows));
  await analyze(database, rows.length);
}

function scopeValues({ names }: Database): readonly string[] {
  return names.instance.value.values.map(String);
}
