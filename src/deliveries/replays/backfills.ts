import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../../base/errors.ts';
import { fromTimestamp, toTimestamp } from '../../base/timestamp.ts';
import { recordEventKinds } from '../../events/event.ts';
import { sql } from '../../sql/sql.ts';
import type { Database, Reader, Transaction } from '../../storage/database.ts';
import { holdRecords } from '../../endpoints/held-records.ts';
import { undecidedFor } from '../decision-cursor.ts';
import { nextTransition } from '../leaves-of.ts';
import type {
  BackfillRecords,
  LockedRecord,
  NextRecords,
  RecordChoice,
} from '../../endpoints/backfill-records.ts';
import { hasConditions, meetConditions } from '../../endpoints/endpoint-conditions.ts';
import { type Endpoint, wants } from '../../endpoints/endpoint.ts';
import {
  type ReplayStepResult,
  lockCursor,
  makeDue,
  noteStep,
  readRoom,
  type Replay,
} from './replay-store.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';

/**
 * A backfill sends one endpoint the existing records of a collection, each as if it were created now. It is a replay whose cursor goes over the
 * collection's table, in the order in which the records were made. Each step locks some of them, writes an event of the kind `backfill` for
 * each, makes their deliveries due and moves the cursor, all in one transaction: so each record is taken once, even if the process dies in between.
 *
 * Why the endpoint misses no record, and gets none twice, while others write, on any node:
 *
 * - A backfill begins in an exclusive work, at `logEnd` and with the last record as `last`. A write that was committed before has its event
 *   at or before `logEnd`, and its record in the table. One that comes later finds the endpoint, and its event lies behind `logEnd`.
 * - So records that are created later are sent by their own event. By that event a step skips them, as below.
 * - A step locks a record before it looks for a delivery of it behind `logEnd`. A change of the record was committed by
 *   then, and its event and delivery are visible: statements see what was committed before them. The record is then left out.
 * - A later change of the record waits for the lock, so its position is behind that of the step, and it is sent like any change.
 * - The record is read behind the lock: the state that is sent is the one that was checked.
 */

/** Records of one step. Changes of these wait for it. */
const lockedMax = 100;
/** How many of them are read together, and the size of their JSON, about, at which a step ends. */
const readTogetherMax = 20;
const jsonLengthMax = 4 * 1024 * 1024;
/** After how long with conditions a step ends: a view rule may be slow, and on SQLite all writes wait for a step. */
const conditionsMsMax = 50;

/**
 * Counts the records of a backfill, a part of the table at a time, with a turn of the event loop between them: otherwise, where this thread reads,
 * all requests would wait until the last one. Throws not_found, bad_request.
 */
export async function countRecords(records: BackfillRecords, what: RecordChoice): Promise<number> {
  let total = 0;
  for (let after = 0; ;) {
    const { count, end, isLast } = await records.count(what, { after, upTo: Number.MAX_SAFE_INTEGER });
    total += count;
    if (isLast) return total;
    after = end;
    await nextTurn();
  }
}

type BackfillInstance = Pick<
  WebhookInstance,
  'database' | 'collections' | 'endpoints' | 'records' | 'events' | 'clock'
>;

interface StepContext {
  readonly now: number;
  /** How many records may be taken. */
  readonly allowed: number;
}

/** Takes the next records of a backfill. Returns how many, and whether it may go on at once. */
export async function advanceBackfill(
  instance: BackfillInstance,
  { replay, endpoint }: { readonly replay: Replay; readonly endpoint: Endpoint },
  { now, allowed }: StepContext,
): Promise<ReplayStepResult> {
  const { database, records } = instance;
  const { number } = replay;
  if (!wants(endpoint, { kind: 'record.create', collection: replay.collection }))
    return endBackfill(database, number, {
      cause: 'The endpoint no longer subscribes to new records of the collection.',
      now,
    });
  const cursor = await readCursor(database, number);
  if (cursor === undefined) return over;
  const room = Math.min(lockedMax, await readRoom(database, number, allowed));
  if (room === 0) return { count: 0, isOver: false, isFull: true };
  const what = choiceOf(replay);
  try {
    const next = await records.next(what, { after: cursor, upTo: replay.last }, room);
    const step = { replay, what, cursor, next, now };
    return await database.write((tx) => takeNext(tx, instance, step), { findsByKey: true });
  } catch (error) {
    const cause = lastingCause(error);
    if (cause === undefined) throw error;
    return endBackfill(database, number, { cause, now });
  }
}

/** Returns the records of a backfill. Its filter means the same at each step. */
function choiceOf({ collection, filter, created }: Replay): RecordChoice {
  return { collection, filter, now: fromTimestamp(created) };
}

export const over: ReplayStepResult = { count: 0, isOver: true, isFull: false };

async function readCursor(reader: Reader, number: number): Promise<number | undefined> {
  const { names } = reader;
  const [row] = await reader.tuples(sql`
    SELECT cursor FROM ${names.table('$replay')} WHERE ${names.instance.condition} AND number = ${number} AND state = 'running'`);
  return row === undefined ? undefined : Number(row[0]);
}

/** Returns why a backfill can never continue; undefined for a transient error. */
function lastingCause(error: unknown): string | undefined {
  if (!(error instanceof AppError)) return undefined;
  if (error.code === 'not_found') return deletedCollectionCause;
  return error.code === 'bad_request'
    ? `The filter does not fit the collection any more: ${error.message}`
    : undefined;
}

const deletedCollectionCause = 'The collection was deleted.';

async function endBackfill(
  database: Database,
  number: number,
  { cause, now }: { readonly cause: string; readonly now: number },
): Promise<ReplayStepResult> {
  const { names } = database;
  await database.write((tx) =>
    tx.run(sql`
      UPDATE ${names.table('$replay')} SET state = 'cancelled', cause = ${cause}, updated = ${toTimestamp(now)}
      WHERE ${names.instance.condition} AND number = ${number} AND state = 'running'`),
  );
  return over;
}

/** Ends the backfills of a collection that is being deleted. Records that were taken are still sent. */
export async function endBackfillsOf(tx: Transaction, collection: string, now: number): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$replay')} SET state = 'cancelled', cause = ${deletedCollectionCause}, updated = ${toTimestamp(now)}
    WHERE ${names.instance.condition} AND scope = 'backfill' AND collection = ${collection} AND state = 'running'`);
}

interface BackfillStep {
  readonly replay: Replay;
  readonly what: RecordChoice;
  /** Where the step begins. */
  readonly cursor: number;
  readonly next: NextRecords;
  readonly now: number;
}

async function takeNext(
  tx: Transaction,
  instance: BackfillInstance,
  step: BackfillStep,
): Promise<ReplayStepResult> {
  const { replay, what, next, now } = step;
  const { number } = replay;
  const cursor = await lockCursor(tx, number);
  // The endpoint as this transaction sees it: its conditions may have changed.
  const endpoint = (await instance.endpoints.all(tx)).find((one) => one.number === replay.endpoint);
  if (cursor === undefined || endpoint === undefined) return over;
  // Another node made a step meanwhile.
  if (cursor !== step.cursor) return { count: 0, isOver: false, isFull: false };
  const locked = next.positions.length === 0 ? [] : await instance.records.lock(tx, what, next.positions);
  const sentIds = await sentSince(tx, replay, { endpoint, records: locked });
  const remaining = locked.filter(({ id }) => !sentIds.has(id));
  const {
    events,
    sent,
    end = next.end,
  } = await appendEvents(tx, instance, {
    ...step,
    endpoint,
    records: remaining,
  });
  if (events.length > 0) await makeDue(tx, { replay, events, endpoint, now });
  if (endpoint.transitions)
    await holdRecords(
      tx,
      sent.map((record) => ({ endpoint: endpoint.number, collection: replay.collection, record })),
    );
  const isOver = next.isLast && end === next.end;
  await noteStep(tx, number, { cursor: end, count: events.length, isOver, now });
  return { count: events.length, isOver, isFull: false };
}

/**
 * Returns the ids of the records that the endpoint got by a change since the backfill began, or, where it belongs to an account,
 * may get: undecided events come behind the backfill, and must not overwrite a newer state. A change whose body was expunged may never
 * have been sent.
 */
async function sentSince(
  tx: Transaction,
  { collection, logEnd, endpoint: number }: Replay,
  { endpoint, records }: BackfillTarget,
): Promise<ReadonlySet<string>> {
  if (records.length === 0) return new Set();
  const { names } = tx;
  const ids = records.map(({ id }) => id);
  const undecided = endpoint.owner === '' ? undefined : await undecidedFor(tx, number);
  const isUndecided =
    undecided === undefined
      ? sql`FALSE`
      : sql`e.position > ${undecided} AND e.kind${names.anyOf(endpoint.events)}`;
  const rows = await tx.tuples(sql`
    SELECT DISTINCT e.record FROM ${names.table('$event')} e
    LEFT JOIN ${names.table('$delivery')} d ON ${names.instance.conditionOf('d')} AND d.event = e.position AND d.endpoint = ${number} AND d.event > ${logEnd}
    WHERE ${names.instance.conditionOf('e')} AND e.record${names.anyOf(ids)} AND e.position > ${logEnd} AND e.collection = ${collection}
      AND e.kind${names.anyOf([...recordEventKinds, 'enter', 'leave'])} AND e.expunged IS NULL AND (d.event IS NOT NULL OR (${isUndecided}))`);
  return new Set(rows.map(([id]) => String(id)));
}

interface BackfillTarget {
  readonly endpoint: Endpoint;
  readonly records: readonly LockedRecord[];
}

/** Writes the events of those records that meet the endpoint's conditions. Returns their positions, and where the step ends if that is before its end, as the records are large or their conditions slow. */
async function appendEvents(
  tx: Transaction,
  { records, events, clock, collections }: BackfillInstance,
  { replay, endpoint, what, records: remaining }: BackfillStep & BackfillTarget,
): Promise<{ readonly events: readonly number[]; readonly sent: readonly string[]; readonly end?: number }> {
  if (remaining.length === 0) return { events: [], sent: [] };
  const before = await lastEvent(tx);
  const isConditional = hasConditions(endpoint);
  const nowMs = clock.now();
  const startMs = clock.monotonic();
  const { collection } = replay;
  const timeOf = endpoint.transitions
    ? await nextTransition(tx, { collection, records: remaining.map(({ id }) => id), now: nowMs })
    : () => ({ created: toTimestamp(nowMs) });
  const common = {
    kind: 'backfill',
    context: { actor: 'service', hops: 1, backfill: replay.id },
  } as const;
  const ids: string[] = [];
  const sent: string[] = [];
  let length = 0;
  let end: number | undefined;
  for (let at = 0; at < remaining.length && end === undefined; at += readTogetherMax) {
    const together = remaining.slice(at, at + readTogetherMax).map(({ position }) => position);
    for (const [index, { about, change }] of (await records.read(tx, what, together)).entries()) {
      length += about.dataJson.length;
      const isMet =
        !isConditional ||
        (await meetConditions(tx, [endpoint], { change, collections, now: nowMs })).matches.length > 0;
      const { created } = timeOf(about.record);
      if (isMet) ids.push((await events.append(tx, { ...common, ...about, created })).id);
      if (isMet) sent.push(about.record);
      if (
        isConditional &&
        clock.monotonic() - startMs > conditionsMsMax &&
        at + index + 1 < remaining.length
      ) {
        end = together[index];
        break;
      }
    }
    if (end === undefined && length >= jsonLengthMax && at + readTogetherMax < remaining.length)
      end = together.at(-1);
  }
  return { events: await positionsOf(tx, before, ids), sent, ...(end !== undefined && { end }) };
}

/** Returns the last position of the log. */
export async function lastEvent(tx: Transaction): Promise<number> {
  const { names } = tx;
  const [row] = await tx.tuples(
    sql`SELECT coalesce(max(position), 0) FROM ${names.table('$event')} WHERE ${names.instance.condition}`,
  );
  return Number(row?.[0]);
}

/** Returns the positions of events that were appended behind `before`. */
export async function positionsOf(
  tx: Transaction,
  before: number,
  ids: readonly string[],
): Promise<readonly number[]> {
  const { names } = tx;
  const rows = await tx.tuples(sql`
    SELECT position FROM ${names.table('$event')} WHERE ${names.instance.condition} AND position > ${before} AND id${names.anyOf(ids)} ORDER BY position`);
  return rows.map(([position]) => Number(position));
}
