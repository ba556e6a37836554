import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../../base/errors.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { addressedKinds, operationalEventKinds, recordEventKinds } from '../../events/event.ts';
import { findTime } from '../../events/find-event.ts';
import { foundByKeys, limit, sql, type Sql } from '../../sql/sql.ts';
import type { Database, Names, Reader, Transaction } from '../../storage/database.ts';
import { hasConditions } from '../../endpoints/endpoint-conditions.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import { type EventFilter, filterEvents } from '../log/event-filter.ts';
import {
  type ReplayStepResult,
  insertReplay,
  lockCursor,
  type LogScope,
  makeDue,
  noteStep,
  readRoom,
  type Replay,
} from './replay-store.ts';
import { undecidedFor } from '../decision-cursor.ts';
import { insertGap } from '../skip-waiting.ts';

/**
 * A replay sends past deliveries of one endpoint again. It is a job that survives the process: its cursor goes over the log, and each step
 * makes some deliveries due and moves the cursor in one transaction, so that each is taken once, even if the process dies in between. Then they are
 * sent like any retries, at the lane's pace. Only so many are pending at once, so that a cancelled replay ends at once.
 *
 * - `failed`: what was exhausted, expired or cancelled
 * - `missing`: every event that the endpoint subscribes to and was not sent, also from before its creation if it has no conditions
 * - `all`: every event that the endpoint subscribes to, sent or not
 * - `waiting`: the backlog of an endpoint that is resumed with the newest first
 */
export interface ReplayPlan extends Pick<Replay, 'first' | 'last' | 'isDescending' | 'rate' | 'filter'> {
  readonly scope: LogScope;
  readonly endpoint: Endpoint;
  /** The filter as it is parsed now. */
  readonly eventFilter: EventFilter | undefined;
}

/** Rows of the log that are walked together. */
const walkMax = 16_384;
/** With a filter over bodies: on SQLite all requests wait for it. */
const filteredMax = 1_024;

/** Returns the range of the log between two times (milliseconds since 1970), both of which may be left out. */
export async function readRange(
  reader: Reader,
  { since, until }: { readonly since: number | undefined; readonly until: number | undefined },
): Promise<{ readonly first: number; readonly last: number }> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT coalesce(max(position), 0) FROM ${names.table('$event')} WHERE ${names.instance.condition}`,
  );
  const first = since === undefined ? 0 : (await findTime(reader, toTimestamp(since))) + 1;
  const last = until === undefined ? Number(row?.[0]) : await findTime(reader, toTimestamp(until + 1));
  return { first, last };
}

/**
 * Counts what a replay would send, in reads of a part of the log each, with a turn of the event loop between them: otherwise, where this thread
 * reads, all requests would wait until the last one.
 */
export async function countReplay(database: Database, plan: ReplayPlan): Promise<number> {
  let total = 0;
  let cursor = plan.isDescending ? plan.last + 1 : plan.first - 1;
  for (;;) {
    const { end, count } = await readCount(database, plan, cursor);
    total += count;
    if (end === undefined) return total;
    cursor = end;
    await nextTurn();
  }
}

async function readCount(
  reader: Reader,
  plan: ReplayPlan,
  cursor: number,
): Promise<{ readonly end: number | undefined; readonly count: number }> {
  const { eventFilter } = plan;
  const parts = candidates(reader, plan, { cursor, walk: eventFilter === undefined ? walkMax : filteredMax });
  if (eventFilter !== undefined) {
    const [end] = await readEnd(reader, parts);
    const rows = await reader.tuples(foundByKeys(sql`${parts.walked} ${parts.select}`));
    const positions = rows.map(([position]) => Number(position));
    return { end, count: (await filterEvents(reader, eventFilter, positions)).length };
  }
  const counted = sql`
    ${parts.walked} SELECT (SELECT ${parts.end} FROM walked), (SELECT count(*) FROM (${parts.select}) AS matches)`;
  const [row] = await reader.tuples(foundByKeys(counted));
  const [end, count] = row ?? [];
  return { end: typeof end === 'number' ? end : undefined, count: Number(count) };
}

interface Walk {
  readonly cursor: number;
  readonly walk: number;
}

/**
 * The parts of a statement on the next part of the log: the walk itself, its end, and the positions of what the replay takes of it. `failed`
 * and `waiting` walk the endpoint's deliveries, the others all events. One with conditions gets no other events: whether these met
 * them at their time is unknown.
 */
function candidates(
  { names }: Pick<Reader, 'names'>,
  { scope, first, last, isDescending, endpoint }: ReplayPlan,
  { cursor, walk }: Walk,
): { readonly walked: Sql; readonly end: Sql; readonly select: Sql } {
  const hasDelivery = scope === 'failed' || scope === 'waiting' || hasConditions(endpoint);
  const position = hasDelivery ? sql`event` : sql`position`;
  const range = isDescending
    ? sql`${position} < ${cursor} AND ${position} >= ${first} ORDER BY ${position} DESC`
    : sql`${position} > ${cursor} AND ${position} <= ${last} ORDER BY ${position}`;
  const source = hasDelivery
    ? sql`SELECT event AS position, endpoint FROM ${names.table('$delivery')}`
    : sql`SELECT position, kind, collection, record, expunged FROM ${names.table('$event')}`;
  const outcome = sql`${names.table('$outcome')} o ON ${names.instance.conditionOf('o')} AND o.event = w.position AND o.endpoint = ${endpoint.number}`;
  const isInGap = sql`EXISTS (SELECT 1 FROM ${names.table('$gap')} g WHERE ${names.instance.conditionOf('g')} AND g.endpoint = ${endpoint.number}
    AND g.first <= w.position AND g.last >= w.position)`;
  // Deliveries behind the cursor of the lane are sent anyway.
  const waits = sql`(o.event IS NULL AND w.position > (
    SELECT l.cursor FROM ${names.table('$lane')} l WHERE ${names.instance.conditionOf('l')} AND l.endpoint = ${endpoint.number}))`;
  const conditions: Readonly<Record<LogScope, Sql>> = {
    failed: sql`(o.status IN ('exhausted', 'expired', 'cancelled') OR (o.event IS NULL AND ${isInGap}))`,
    waiting: sql`(o.event IS NULL AND NOT ${isInGap})`,
    missing: sql`coalesce(o.status, '') NOT IN ('delivered', 'pending') AND NOT ${waits}`,
    all: sql`coalesce(o.status, '') <> 'pending' AND NOT ${waits}`,
  };
  // The last event of a full walk may have more deliveries behind it: the next walk begins with that event.
  const end = isDescending
    ? sql`CASE WHEN count(*) = ${walk} THEN min(position) + 1 ELSE min(position) END`
    : sql`CASE WHEN count(*) = ${walk} THEN max(position) - 1 ELSE max(position) END`;
  const isReached = isDescending
    ? sql`w.position >= (SELECT ${end} FROM walked)`
    : sql`w.position <= (SELECT ${end} FROM walked)`;
  const isMatch = hasDelivery ? deliveryCondition(names, endpoint, scope) : eventCondition(names, endpoint);
  return {
    walked: sql`WITH walked AS MATERIALIZED (${source} WHERE ${names.instance.condition} AND ${range}${limit(walk)})`,
    end,
    select: sql`SELECT w.position FROM walked w LEFT JOIN ${outcome} WHERE ${isMatch} AND ${conditions[scope]} AND ${isReached}`,
  };
}

/** The kinds of events that a replay sends again. */
const resentKinds: readonly string[] = [...recordEventKinds, ...operationalEventKinds, ...addressedKinds];

/** Tests and expunged events are not sent again. With `waiting`, every pending delivery is sent, so the event need not be read. */
function deliveryCondition(names: Names, { number }: Endpoint, scope: LogScope): Sql {
  const isOfEndpoint = sql`w.endpoint = ${number}`;
  if (scope === 'waiting') return isOfEndpoint;
  return sql`${isOfEndpoint} AND EXISTS (SELECT 1 FROM ${names.table('$event')} e
    WHERE ${names.instance.conditionOf('e')} AND e.position = w.position AND e.kind${names.anyOf(resentKinds)} AND e.expunged IS NULL)`;
}

/** As `wants` has it. */
function eventCondition(names: Names, { id, events, collections }: Endpoint): Sql {
  const isOfKind = sql`w.kind${names.anyOf(events)} AND w.expunged IS NULL`;
  const isOfCollection =
    collections.length === 0 ? sql`w.collection <> ''` : sql`w.collection${names.anyOf(collections)}`;
  return sql`${isOfKind} AND (${isOfCollection} OR (w.collection = '' AND w.record <> ${id}))`;
}

/** Returns the replay of an endpoint's backlog, the newest first; undefined when its lane is at the end of the log. */
export async function planWaiting(reader: Reader, endpoint: Endpoint): Promise<ReplayPlan | undefined> {
  const { names } = reader;
  const [row] = await reader.tuples(sql`
    SELECT cursor, (SELECT coalesce(max(position), 0) FROM ${names.table('$event')} WHERE ${names.instance.condition})
    FROM ${names.table('$lane')} WHERE ${names.instance.condition} AND endpoint = ${endpoint.number}`);
  // Events that are decided later for an account come as new ones.
  const decided = endpoint.owner === '' ? undefined : await undecidedFor(reader, endpoint.number);
  const last = Math.min(Number(row?.[1]), decided ?? Number.POSITIVE_INFINITY);
  const range = { first: Number(row?.[0]) + 1, last, isDescending: true };
  const what = { endpoint, scope: 'waiting', rate: 0, filter: '', eventFilter: undefined } as const;
  return range.last < range.first ? undefined : { ...what, ...range };
}

/**
 * Moves the lane of an endpoint to the end of the log, and begins a replay of its backlog. To be called while nothing else is
 * written. `total` is the approximate size.
 */
export async function replayWaiting(
  tx: Transaction,
  endpoint: Endpoint,
  counted: { readonly total: number; readonly now: number },
): Promise<void> {
  const { names } = tx;
  const plan = await planWaiting(tx, endpoint);
  if (plan === undefined) return;
  await insertReplay(tx, plan, counted);
  await tx.run(
    sql`UPDATE ${names.table('$lane')} SET cursor = ${plan.last} WHERE ${names.instance.condition} AND endpoint = ${endpoint.number}`,
  );
}

/** Cancels a replay with its pending deliveries. To be called in a change of its endpoint. Throws conflict when it is over. */
export async function cancelReplay(tx: Transaction, replay: Replay, now: number): Promise<void> {
  const { names } = tx;
  const updated = toTimestamp(now);
  const changed = await tx.run(sql`
    UPDATE ${names.table('$replay')} SET state = 'cancelled', updated = ${updated}
    WHERE ${names.instance.condition} AND number = ${replay.number} AND state = 'running'`);
  if (changed === 0) throw new AppError('conflict', `The replay is ${replay.state}.`);
  const cause = 'The replay was cancelled.';
  await tx.run(sql`
    UPDATE ${names.table('$outcome')} SET status = 'cancelled', cause = ${cause}, updated = ${updated}
    WHERE ${names.instance.condition} AND replay = ${replay.number} AND status = 'pending'`);
  if (replay.scope === 'waiting')
    await insertGap(tx, {
      endpoint: replay.endpoint,
      first: replay.first,
      last: replay.last,
      cause,
      now: updated,
    });
}

interface RunningPlan extends Replay {
  readonly scope: LogScope;
  readonly of: Endpoint;
  readonly eventFilter: EventFilter | undefined;
}

/** Makes the next deliveries of a replay due. */
export function advanceReplay(
  database: Database,
  plan: RunningPlan,
  { now, allowed }: { readonly now: number; readonly allowed: number },
): Promise<ReplayStepResult> {
  const advance = async (tx: Transaction): Promise<ReplayStepResult> => {
    const cursor = await lockCursor(tx, plan.number);
    if (cursor === undefined) return { count: 0, isOver: true, isFull: false };
    const room = await readRoom(tx, plan.number, allowed);
    if (room === 0) return { count: 0, isOver: false, isFull: true };
    return take(tx, plan, { cursor, room, now });
  };
  return database.write(advance, { findsByKey: true });
}

async function take(
  tx: Transaction,
  { of: endpoint, eventFilter, ...replay }: RunningPlan,
  { cursor, room, now }: { readonly cursor: number; readonly room: number; readonly now: number },
): Promise<ReplayStepResult> {
  const { isDescending, number } = replay;
  const walk = eventFilter === undefined ? walkMax : filteredMax;
  const parts = candidates(tx, { ...replay, endpoint, eventFilter }, { cursor, walk });
  const order = isDescending ? sql`position DESC` : sql`position`;
  const rows = await tx.tuples(sql`
    ${parts.walked} SELECT position, (SELECT ${parts.end} FROM walked) FROM (${parts.select}) AS matches ORDER BY ${order}${limit(room)}`);
  const positions = rows.map(([position]) => Number(position));
  const [end] = positions.length === room ? [positions.at(-1)] : await readEnd(tx, parts);
  const events = eventFilter === undefined ? positions : await filterEvents(tx, eventFilter, positions);
  if (events.length > 0) await makeDue(tx, { replay, events, endpoint, now });
  const isOver = end === undefined;
  await noteStep(tx, number, { cursor: end ?? cursor, count: events.length, isOver, now });
  return { count: events.length, isOver, isFull: false };
}

async function readEnd(
  reader: Reader,
  { walked, end }: { readonly walked: Sql; readonly end: Sql },
): Promise<[number | undefined]> {
  const [row] = await reader.tuples(sql`${walked} SELECT ${end} FROM walked`);
  return [typeof row?.[0] === 'number' ? row[0] : undefined];
}
