import { identifier, literal, sql, type Sql } from '../../sql/sql.ts';
import type { Database, Reader, Transaction, Tuple } from '../database.ts';
import { advisoryKey } from './postgres-names.ts';

/**
 * The tables of the log, parted by the position of the event, all at the same bounds. A new partition is attached and an old one detached
 * without a lock that a reader or a writer waits for. There is no default partition, as it would have to be searched for each new one:
 * a row for which there is no partition is refused, and the work is run again when that is made.
 */
const logTables = ['event', 'delivery', 'outcome', 'attempt'] as const;

type LogTable = (typeof logTables)[number];

export interface LogPartition {
  readonly table: LogTable;
  readonly number: number;
  /** The first position; none where it begins with the log. */
  readonly first: number;
  /** The first position behind it. */
  readonly end: number;
  /** `leaving` when a detachment was begun and not finished, `left` when it was and the table is still there. */
  readonly state: 'attached' | 'leaving' | 'left';
}

/** The fewest positions of a partition: each costs every reader of the whole log some time. */
export const positionsMin = 1_000_000;

/** How many partitions there are to be behind the one that is being written. */
const aheadMin = 2;

/** How long a change of the partitions waits for a lock. Only for another such change, as nothing else takes locks that it needs. */
const lockMsMax = 2_000;

const makingKey = advisoryKey('partitions of the log');

/** Returns the partitions of all tables, detached ones included, in the order of their positions. */
export async function readPartitions(reader: Reader): Promise<readonly LogPartition[]> {
  // PostgreSQL returns bounds only as text: FOR VALUES FROM ('1') TO ('2').
  const bound = sql`pg_get_expr(c.relpartbound, c.oid)`;
  const rows = await reader.tuples(sql`
    SELECT split_part(c.relname, '_', 1), split_part(c.relname, '_', 2)::bigint, substring(${bound} FROM 'FROM [(]''([0-9]+)')::bigint,
      substring(${bound} FROM 'TO [(]''([0-9]+)')::bigint, i.inhdetachpending
    FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    WHERE c.relnamespace = to_regnamespace('chancery') AND c.relkind = 'r'
      AND c.relname ~ ${`^(${logTables.join('|')})_[0-9]+$`}
    ORDER BY 4, 2, 1`);
  return rows.map(toPartition);
}

function toPartition([table, number, first, end, isLeaving]: Tuple): LogPartition {
  return {
    // The statement finds no others.
    table: String(table) as LogTable,
    number: Number(number),
    first: Number(first ?? 0),
    end: Number(end ?? 0),
    state: isLeaving === null ? 'left' : isLeaving === 1 ? 'leaving' : 'attached',
  };
}

export interface PartitionNeed {
  /** The positions of each partition that is made. */
  readonly size: number;
  /** A position of the log for which there is to be a partition. */
  readonly position?: number;
}

/**
 * Makes the partitions that are missing: so that there are two behind the last position of the log, and one for the position that is
 * needed. Returns up to which position there are as many. Of several that do so at the same time, the others find that it is done.
 */
export async function makePartitions(
  tx: Transaction,
  { size, position = 0 }: PartitionNeed,
): Promise<number> {
  // A statement of its own, so that the next one sees the partitions that the holder of the lock has made.
  await tx.tuples(
    sql`SELECT pg_advisory_xact_lock(${makingKey}), set_config('lock_timeout', ${String(lockMsMax)}, true)`,
  );
  const [row] = await tx.tuples(
    sql`SELECT coalesce(pg_sequence_last_value('chancery.event_position_seq'), 0)`,
  );
  const partitions = await readPartitions(tx);
  const attached = partitions.filter(({ state }) => state !== 'left');
  let number = Math.max(0, ...partitions.map((one) => one.number));
  for (const table of logTables) {
    const lowest = attached.find((one) => one.table === table)?.first ?? 0;
    // A result that comes when the partition of its event is gone.
    if (position > 0 && position < lowest) await add(tx, table, { number: (number += 1), end: lowest });
  }
  const events = attached.filter(({ table }) => table === 'event');
  const firsts = events.map(({ first }) => first);
  let end = events.at(-1)?.end ?? 1;
  const reached = Math.max(Number(row?.[0]), position);
  while (reached >= (firsts.at(-aheadMin) ?? 0)) {
    const first = end;
    end = Math.max(first, reached) + size;
    number += 1;
    for (const table of logTables) await add(tx, table, { number, first, end });
    firsts.push(first);
  }
  return (firsts.at(-aheadMin) ?? 0) - 1;
}

async function add(
  tx: Transaction,
  table: LogTable,
  { number, first, end }: { readonly number: number; readonly first?: number; readonly end: number },
): Promise<void> {
  const name = partitionName({ table, number });
  const from = first === undefined ? sql`MINVALUE` : literal(first);
  // Not PARTITION OF, for which all others would have to leave the table alone.
  await tx.run(sql`CREATE TABLE ${name} (LIKE ${parentOf(table)})`);
  await tx.run(
    sql`ALTER TABLE ${parentOf(table)} ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${literal(end)})`,
  );
}

/**
 * Takes a partition out of its table and drops it. Waits for transactions that may be reading it, and blocks no other transaction meanwhile; when they
 * take too long it fails, and is gone on with by another call.
 */
export async function dropPartition(database: Database, partition: LogPartition): Promise<void> {
  const parent = parentOf(partition.table);
  const name = partitionName(partition);
  // Outside of a transaction, as it has two of its own.
  if (partition.state === 'attached')
    await database.get(sql`ALTER TABLE ${parent} DETACH PARTITION ${name} CONCURRENTLY`);
  if (partition.state === 'leaving')
    await database.get(sql`ALTER TABLE ${parent} DETACH PARTITION ${name} FINALIZE`);
  await database.write((tx) => tx.run(sql`DROP TABLE IF EXISTS ${name}`));
}

function parentOf(table: LogTable): Sql {
  return sql`chancery.${identifier(table)}`;
}

/** The name of the partition's table. */
export function partitionName({ table, number }: Pick<LogPartition, 'table' | 'number'>): Sql {
  return sql`chancery.${identifier(`${table}_${number}`)}`;
}
