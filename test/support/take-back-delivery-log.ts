import assert from 'node:assert/strict';
import { openDataDirectory } from '../../src/open-data-directory.ts';
import { identifier, joinSql, sql, type Sql } from '../../src/sql/sql.ts';
import type { Engine, Transaction } from '../../src/storage/database.ts';
import type { Migration } from '../../src/storage/migrate.ts';
import { instanceDeliveryLog } from '../../src/storage/migrations/instance-delivery-log.ts';
import { instanceMigrations } from '../../src/storage/migrations/instance-migrations.ts';
import { postgresMigrations } from '../../src/storage/migrations/postgres-migrations.ts';
import { onSlug } from './on-slug.ts';
import { testConfig } from './test-config.ts';

/** A row of `$delivery` as it was before the migration; see there. */
export interface DeliveryBefore {
  readonly event: string;
  readonly endpoint: string;
  readonly status: 'pending' | 'delivered' | 'exhausted' | 'cancelled';
  /** How many attempts it counts; each is stored, and has failed unless it is the last one of a delivered one. */
  readonly attempts?: number;
  /** In milliseconds since 1970, as the next two. */
  readonly due?: number;
  readonly putOffUntil?: number;
  readonly isWide?: boolean;
  readonly cause?: string;
  readonly created: string;
  readonly updated: string;
}

/** What is stored of an endpoint that failed, as it was before the migration. */
export interface LaneBefore {
  readonly endpoint: string;
  readonly state: string;
  readonly since: number;
  readonly probeAt: number;
  readonly cause: string;
}

/**
 * Makes the tables of webhooks what they were before the migration that this tests, by the statements of the migrations before it, and takes back those that follow. Events
 * and endpoints stay, with other positions, and these deliveries are what became of them. No service may run on the directory.
 */
export async function takeBackDeliveryLog(
  data: string,
  before: { readonly deliveries: readonly DeliveryBefore[]; readonly lanes: readonly LaneBefore[] },
): Promise<void> {
  const silent = (): void => undefined;
  const logger = { debug: silent, info: silent, warn: silent, error: silent };
  const opened = await openDataDirectory(await testConfig(data), { logger });
  try {
    await onSlug(opened, 'default', ({ database }) =>
      database.write(
        async (tx) => {
          await takeBack(tx);
          for (const delivery of before.deliveries) await insertDelivery(tx, delivery);
          for (const lane of before.lanes) await insertLane(tx, lane);
        },
        { isExclusive: true },
      ),
    );
  } finally {
    await opened.stop();
  }
}

const eventColumns = namesOf('id kind collection collection_name record revision created body');
const endpointColumns = namesOf(
  'id url description events collections headers max_in_flight timeout_ms schedule status status_reason secret created updated',
);

function namesOf(names: string): Sql {
  return joinSql(names.split(' ').map(identifier), ', ');
}

async function takeBack(tx: Transaction): Promise<void> {
  const { names } = tx;
  const [events, endpoints] = [names.table('$event'), names.table('$endpoint')];
  const kept = [
    { table: events, columns: eventColumns },
    { table: endpoints, columns: endpointColumns },
  ];
  const rows = [];
  for (const { table, columns } of kept)
    rows.push(
      await tx.tuples(
        sql`SELECT ${columns} FROM ${table} WHERE ${names.instance.condition} ORDER BY position`,
      ),
    );
  const { before, after } = migrationsOf(names.engine);
  for (const { table } of kept) await tx.run(sql`DROP TABLE ${table}`);
  // A table that a later migration parts was made by two of them, and its parts go with it.
  for (const table of after.flatMap(tablesMade(names.engine)))
    await tx.run(sql`DROP TABLE IF EXISTS ${table}`);
  for (const { table, column } of after.flatMap(columnsOfOthers(names.engine)))
    await tx.run(sql`ALTER TABLE ${table} DROP COLUMN ${column}`);
  for (const statement of before.flatMap(statementsOfWebhooks(names.engine))) await tx.run(statement);
  for (const [index, { table, columns }] of kept.entries())
    for (const row of rows[index] ?? []) {
      const values = joinSql(
        row.map((value) => sql`${value}`),
        ', ',
      );
      await tx.run(
        sql`INSERT INTO ${table} (${names.instance.column}${columns}) VALUES (${names.instance.value}${values})`,
      );
    }
  const log = names.engine === 'sqlite' ? sql`"$migration"` : sql`chancery.migration`;
  const undone = await tx.run(sql`DELETE FROM ${log} WHERE number > ${before.length}`);
  assert.equal(undone, after.length);
}

function migrationsOf(engine: Engine): {
  readonly before: readonly Migration[];
  /** The migration that is tested, and those that follow. */
  readonly after: readonly Migration[];
} {
  const all = engine === 'sqlite' ? instanceMigrations : postgresMigrations;
  const at = all.findIndex(({ name }) => name === instanceDeliveryLog.name);
  return { before: all.slice(0, at), after: all.slice(at) };
}

/** Returns what finds the tables that a migration makes. */
function tablesMade(engine: Engine): (migration: Migration) => readonly Sql[] {
  return ({ statements }) =>
    statements(engine).flatMap(({ text }) => {
      const [, name] = /^CREATE (?:UNLOGGED )?TABLE (?:chancery\.)?"?([$\w]+)/.exec(text) ?? [];
      if (name === undefined) return [];
      return [engine === 'sqlite' ? identifier(name) : sql`chancery.${identifier(name)}`];
    });
}

interface AddedColumn {
  readonly table: Sql;
  readonly column: Sql;
}

/** Returns what finds the columns that a migration adds to API keys, nodes and instances, which stay. */
function columnsOfOthers(engine: Engine): (migration: Migration) => readonly AddedColumn[] {
  return ({ statements }) =>
    statements(engine).flatMap(({ text }) => {
      const [, name] = /^ALTER TABLE (?:chancery\.)?"?(\$?(?:api_key|node|instance))\b/.exec(text) ?? [];
      if (name === undefined) return [];
      const table = engine === 'sqlite' ? identifier(name) : sql`chancery.${identifier(name)}`;
      return [...text.matchAll(/ADD COLUMN (\w+)/g)].map(([, column = '']) => ({
        table,
        column: identifier(column),
      }));
    });
}

/** Returns what finds the statements of a migration that make tables of webhooks, or their indexes and columns. */
function statementsOfWebhooks(engine: Engine): (migration: Migration) => readonly Sql[] {
  const tables = '(?:bare_)?(?:event|endpoint|delivery|attempt|lane)';
  const isOfWebhooks = new RegExp(engine === 'sqlite' ? `"\\$${tables}"` : `chancery\\.${tables}\\b`);
  return ({ statements }) => statements(engine).filter(({ text }) => isOfWebhooks.test(text));
}

async function insertDelivery(tx: Transaction, delivery: DeliveryBefore): Promise<void> {
  const { names } = tx;
  const { event, endpoint, status, attempts = 0, due = 0, cause = '', created, updated } = delivery;
  const id = `${event}-${endpoint}`;
  await tx.run(sql`
    INSERT INTO ${names.table('$delivery')}
      (${names.instance.column}id, event, endpoint, status, attempts, due, cause, created, updated, put_off_until, is_wide)
    SELECT ${names.instance.value}${id}, position, ${endpoint}, ${status}, ${attempts}, ${due}, ${cause}, ${created}, ${updated},
      CAST(${delivery.putOffUntil ?? null} AS bigint), ${delivery.isWide === true ? 1 : 0}
    FROM ${names.table('$event')} WHERE ${names.instance.condition} AND id = ${event}`);
  for (let number = 1; number <= attempts; number += 1) {
    const isLast = status === 'delivered' && number === attempts;
    const [kind, answered] = isLast ? ['success', 200] : ['status', 500];
    await tx.run(sql`
      INSERT INTO ${names.table('$attempt')}
        (${names.instance.column}delivery, number, started, kind, status, cause, connect_ms, total_ms, response_headers, response_body)
      VALUES (${names.instance.value}${id}, ${number}, ${created}, ${kind}, ${answered}, '', ${number}, ${number + 1}, '{"x-was":"before"}',
        ${Buffer.from(`answer ${number} of ${id}`)})`);
  }
}

async function insertLane(tx: Transaction, lane: LaneBefore): Promise<void> {
  const { names } = tx;
  const { endpoint, state, since, probeAt, cause } = lane;
  await tx.run(sql`
    INSERT INTO ${names.table('$lane')} (${names.instance.column}endpoint, state, since, probe_at, probe_delay, held_until, cause)
    VALUES (${names.instance.value}${endpoint}, ${state}, ${since}, ${probeAt}, 5000, 0, ${cause})`);
}
