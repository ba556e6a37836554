import { notFound } from '../../base/errors.ts';
import { newId } from '../../base/ids.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import type { Reader, Row, Transaction } from '../../storage/database.ts';
import { isOneOf } from '../deliveries.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import { recordKey } from '../record-order.ts';

/** The rows of replays (replays.ts), and of backfills (backfills.ts) and reconciles (reconciles.ts), which are replays of records. */

export const replayScopes = ['failed', 'missing', 'all'] as const;
export type ReplayScope = LogScope | 'backfill' | 'reconcile';
/** The scopes of replays that go over the log. */
export type LogScope = (typeof replayScopes)[number] | 'waiting';

export interface Replay {
  readonly number: number;
  readonly id: string;
  /** The number of the endpoint, and its id. */
  readonly endpoint: number;
  readonly endpointId: string;
  readonly scope: ReplayScope;
  /** Of a backfill, the id of the collection, and of a reconcile that of the one where it stands; otherwise ''. */
  readonly collection: string;
  /** Of a reconcile, the record where it stands among the keys of the collection; otherwise ''. */
  readonly record: string;
  /** Of a backfill, the last position of the log as it began; otherwise 0. */
  readonly logEnd: number;
  /** Between which positions of the log, both included; of a backfill, of the collection's table. */
  readonly first: number;
  readonly last: number;
  readonly isDescending: boolean;
  /** Deliveries per second; 0 for no limit. */
  readonly rate: number;
  /** A condition on the records: as their events have them, or of a backfill as they are; '' for none. */
  readonly filter: string;
  /** The last position that was processed. */
  readonly cursor: number;
  /** How many deliveries it had at the start, and how many became due so far. */
  readonly total: number;
  readonly takenCount: number;
  readonly state: 'running' | 'done' | 'cancelled';
  /** Why the service cancelled it, in words; otherwise ''. */
  readonly cause: string;
  readonly created: string;
  readonly updated: string;
}

/** How many deliveries of a replay may be pending, and how many become due together. */
const waitingMax = 1_000;
const takenTogetherMax = 256;

/** The result of a step of a replay. */
export interface ReplayStepResult {
  readonly count: number;
  readonly isOver: boolean;
  /** Whether pending deliveries must be sent first. */
  readonly isFull: boolean;
}

/** A replay that begins. */
export interface NewReplay
  extends
    Pick<Replay, 'first' | 'last' | 'isDescending' | 'rate' | 'filter'>,
    Partial<Pick<Replay, 'collection' | 'logEnd'>> {
  readonly scope: ReplayScope;
  readonly endpoint: Endpoint;
}

/** Begins a replay. To be called in a change of its endpoint, which notifies the node that owns it. */
export async function insertReplay(
  tx: Transaction,
  replay: NewReplay,
  { total, now }: { readonly total: number; readonly now: number },
): Promise<string> {
  const { names } = tx;
  const { endpoint, scope, first, last, isDescending, rate, filter, collection = '', logEnd = 0 } = replay;
  const id = newId();
  const cursor = isDescending ? last + 1 : first - 1;
  const created = toTimestamp(now);
  await tx.run(sql`
    INSERT INTO ${names.table('$replay')} (${names.instance.column}id, endpoint, scope, collection, log_end, first, last, is_descending, rate, filter,
      cursor, total, taken, state, created, updated)
    VALUES (${names.instance.value}${id}, ${endpoint.number}, ${scope}, ${collection}, ${logEnd}, ${first}, ${last}, ${isDescending ? 1 : 0}, ${rate},
      ${filter}, ${cursor}, ${total}, 0, 'running', ${created}, ${created})`);
  return id;
}

const columns = sql`r.number, r.id, r.endpoint, p.id AS endpoint_id, r.scope, r.collection, r.record, r.log_end, r.first, r.last, r.is_descending, r.rate,
  r.filter, r.cursor, r.total, r.taken, r.state, r.cause, r.created, r.updated`;

function fromReplays({ names }: Reader): Sql {
  return sql`FROM ${names.table('$replay')} r JOIN ${names.table('$endpoint')} p ON ${names.instance.conditionOf('p')} AND p.position = r.endpoint
    WHERE ${names.instance.conditionOf('r')}`;
}

function toReplay(row: Row): Replay {
  return {
    number: Number(row['number']),
    id: String(row['id']),
    endpoint: Number(row['endpoint']),
    endpointId: String(row['endpoint_id']),
    // The columns hold nothing else.
    scope: String(row['scope']) as ReplayScope,
    collection: String(row['collection']),
    record: String(row['record']),
    logEnd: Number(row['log_end']),
    first: Number(row['first']),
    last: Number(row['last']),
    isDescending: row['is_descending'] === 1,
    rate: Number(row['rate']),
    filter: String(row['filter']),
    cursor: Number(row['cursor']),
    total: Number(row['total']),
    takenCount: Number(row['taken']),
    // As above.
    state: String(row['state']) as Replay['state'],
    cause: String(row['cause']),
    created: String(row['created']),
    updated: String(row['updated']),
  };
}

/** Reads the replays that are not over, in the order in which they were made. */
export async function readRunning(reader: Reader): Promise<readonly Replay[]> {
  const rows = await reader.all(
    sql`SELECT ${columns} ${fromReplays(reader)} AND r.state = 'running' ORDER BY r.number`,
  );
  return rows.map(toReplay);
}

/** Throws not_found. */
export async function readReplay(reader: Reader, id: string): Promise<Replay> {
  const row = await reader.get(sql`SELECT ${columns} ${fromReplays(reader)} AND r.id = ${id}`);
  if (row === undefined) throw notFound();
  return toReplay(row);
}

/** How many deliveries of a replay have which status. */
export async function countByStatus(reader: Reader, number: number): Promise<ReadonlyMap<string, number>> {
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT status, count(*) FROM ${names.table('$outcome')} WHERE ${names.instance.condition} AND replay = ${number} GROUP BY status`);
  return new Map(rows.map(([status, count]) => [String(status), Number(count)]));
}

/** Returns how many deliveries of a replay can be made due now. */
export async function readRoom(reader: Reader, number: number, allowed: number): Promise<number> {
  const { names } = reader;
  const [open] = await reader.tuples(sql`
    SELECT count(*) FROM ${names.table('$outcome')} WHERE ${names.instance.condition} AND replay = ${number} AND status = 'pending'`);
  return Math.max(0, Math.min(takenTogetherMax, allowed, waitingMax - Number(open?.[0])));
}

/** Returns the cursor of a replay and locks it until the transaction ends; undefined when it is over. */
export async function lockCursor(tx: Transaction, number: number): Promise<number | undefined> {
  const { names } = tx;
  const [row] = await tx.tuples(sql`
    SELECT cursor, state FROM ${names.table('$replay')} WHERE ${names.instance.condition} AND number = ${number}${names.locks.forUpdate}`);
  return row?.[1] === 'running' ? Number(row[0]) : undefined;
}

export interface ReplayStep {
  readonly cursor: number;
  readonly count: number;
  readonly isOver: boolean;
  readonly now: number;
}

/** Stores the progress of a replay. */
export async function noteStep(tx: Transaction, number: number, step: ReplayStep): Promise<void> {
  const { names } = tx;
  const { cursor, count, isOver, now } = step;
  await tx.run(sql`
    UPDATE ${names.table('$replay')} SET cursor = ${cursor}, taken = taken + ${count}, state = ${isOver ? 'done' : 'running'},
      updated = ${toTimestamp(now)} WHERE ${names.instance.condition} AND number = ${number}`);
}

interface Due {
  readonly replay: Pick<Replay, 'number' | 'isDescending'>;
  readonly events: readonly number[];
  readonly endpoint: Endpoint;
  readonly now: number;
}

/** Makes the deliveries of these events to an endpoint due, and inserts those that it does not have. */
export async function makeDue(tx: Transaction, { replay, events, endpoint, now }: Due): Promise<void> {
  const { names } = tx;
  const of = sql`FROM ${names.table('$event')} e WHERE ${names.instance.conditionOf('e')} AND ${isOneOf(names, sql`e.position`, events)}`;
  await tx.run(sql`
    INSERT INTO ${names.table('$delivery')} (${names.instance.column}event, endpoint)
    SELECT ${names.instance.value}e.position, CAST(${endpoint.number} AS bigint) ${of}
    ON CONFLICT (${names.instance.column}event, endpoint) DO NOTHING`);
  // Due in the past, the first of them longest: what is due longest is sent first.
  const direction = replay.isDescending ? sql`DESC` : sql`ASC`;
  const due = sql`CAST(${now - events.length} AS bigint) + row_number() OVER (ORDER BY e.position ${direction})`;
  await tx.run(sql`
    INSERT INTO ${names.table('$outcome')} (${names.instance.column}event, endpoint, status, attempts, due, is_wide, record, replay, cause, updated)
    SELECT ${names.instance.value}e.position, CAST(${endpoint.number} AS bigint), 'pending', 0, CAST(${due} AS bigint), 0, ${recordKey(sql`e`)},
      CAST(${replay.number} AS bigint), '', ${toTimestamp(now)} ${of}
    ON CONFLICT (${names.instance.column}event, endpoint) DO UPDATE SET status = 'pending', due = excluded.due, record = excluded.record,
      replay = excluded.replay, batch = NULL, cause = '', updated = excluded.updated`);
}
