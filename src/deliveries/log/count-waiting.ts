import type { Timestamp } from '../../base/timestamp.ts';
import { foundByKeys, limit, sql, type Sql } from '../../sql/sql.ts';
import type { Names, Reader } from '../../storage/database.ts';

/** Rows of the log that are walked for a pending one: they are few, as the janitor advances the cursors. */
const walkMax = 65_536;

/** A condition that lets SQLite run a long walk in a thread. */
function inTime(names: Names): Sql {
  const isInTime = names.isInTime(sql`event`, 'for some');
  return isInTime === undefined ? sql`` : sql` AND ${isInTime}`;
}

/** Returns the time of the oldest event with a pending delivery, for paused endpoints too; undefined when there is none. */
export async function readOldestPending(reader: Reader): Promise<Timestamp | undefined> {
  const { names } = reader;
  const outcome = names.table('$outcome');
  const lane = names.table('$lane');
  // SQLite uses the index without delivered outcomes only for its own condition.
  const oldest = sql`
    WITH walked AS (
      SELECT event, endpoint FROM ${names.table('$delivery')}
      WHERE ${names.instance.condition} AND event > (SELECT min(cursor) FROM ${lane} WHERE ${names.instance.condition}) ORDER BY event${limit(walkMax)}),
    oldest AS (
      SELECT min(position) AS position FROM (
        SELECT min(event) AS position FROM ${outcome} WHERE ${names.instance.condition} AND status = 'pending' AND status <> 'delivered'
        UNION ALL SELECT * FROM (
          SELECT w.event FROM walked w JOIN ${lane} l ON ${names.instance.conditionOf('l')} AND l.endpoint = w.endpoint AND w.event > l.cursor
          WHERE NOT EXISTS (
            SELECT 1 FROM ${outcome} o WHERE ${names.instance.conditionOf('o')} AND o.event = w.event AND o.endpoint = w.endpoint)
          ORDER BY w.event LIMIT 1) AS first) AS both_kinds)
    SELECT created FROM ${names.table('$event')} WHERE ${names.instance.condition} AND position = (SELECT position FROM oldest)`;
  const [row] = await reader.tuples(foundByKeys(oldest));
  return typeof row?.[0] === 'string' ? row[0] : undefined;
}

/** Counts pending deliveries, for paused endpoints too. Walks the log behind the cursors. */
export async function countWaiting(reader: Reader): Promise<number> {
  const { names } = reader;
  const outcome = names.table('$outcome');
  const [row] = await reader.tuples(sql`
    SELECT (SELECT count(*) FROM ${outcome} WHERE ${names.instance.condition} AND status = 'pending') + (
      SELECT count(*) FROM ${names.table('$delivery')} d
      JOIN ${names.table('$lane')} l ON ${names.instance.conditionOf('l')} AND l.endpoint = d.endpoint AND d.event > l.cursor
      WHERE ${names.instance.conditionOf('d')} AND NOT EXISTS (
        SELECT 1 FROM ${outcome} o WHERE ${names.instance.conditionOf('o')} AND o.event = d.event AND o.endpoint = d.endpoint))`);
  return Number(row?.[0]);
}

/** More deliveries of one endpoint are not counted. */
export const waitingCountMax = 10_000;

/** Counts the pending deliveries of an endpoint, at most `waitingCountMax`, and returns the time of the oldest event. */
export async function countWaitingOf(
  reader: Reader,
  endpoint: number,
): Promise<{
  readonly waiting: number;
  /** Whether there are more than were counted. */
  readonly isAtLeast: boolean;
  readonly oldest: Timestamp | undefined;
}> {
  const { names } = reader;
  const outcome = names.table('$outcome');
  const ofLane = sql`
    WITH walked AS (
      SELECT event, endpoint FROM ${names.table('$delivery')}
      WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND event > (
        SELECT cursor FROM ${names.table('$lane')} WHERE ${names.instance.condition} AND endpoint = ${endpoint})${inTime(names)}
      ORDER BY event${limit(walkMax)}),
    waiting AS (
      SELECT * FROM (
        SELECT w.event FROM walked w WHERE NOT EXISTS (
          SELECT 1 FROM ${outcome} o WHERE ${names.instance.conditionOf('o')} AND o.event = w.event AND o.endpoint = w.endpoint)
        ORDER BY w.event${limit(waitingCountMax + 1)}) AS behind_cursor
      UNION ALL SELECT * FROM (
        SELECT event FROM ${outcome} WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND status = 'pending'${limit(waitingCountMax + 1)}) AS failed)
    SELECT (SELECT count(*) FROM waiting), (
      SELECT created FROM ${names.table('$event')} WHERE ${names.instance.condition} AND position = (SELECT min(event) FROM waiting))`;
  const [row] = await reader.search(foundByKeys(ofLane), { isQuick: true });
  const [waiting, oldest] = row ?? [];
  return {
    waiting: Math.min(waitingCountMax, Number(waiting)),
    isAtLeast: Number(waiting) > waitingCountMax,
    oldest: typeof oldest === 'string' ? oldest : undefined,
  };
}

interface WaitingCount {
  readonly waiting: number;
  /** Whether there may be more than were counted. */
  readonly isAtLeast: boolean;
  /** The time of the oldest event that was counted. */
  readonly oldest?: Timestamp | undefined;
}

/**
 * Counts the pending deliveries of several endpoints, whose cursors are given by their numbers, among the newest deliveries and the oldest
 * failed ones: at most `max` of each are walked.
 */
export async function countWaitingOfEach(
  reader: Reader,
  cursors: ReadonlyMap<number, number>,
  max = walkMax,
): Promise<(endpoint: number) => WaitingCount> {
  const { names } = reader;
  const outcome = names.table('$outcome');
  const isListed = names.anyNumberOf([...cursors.keys()]);
  const begin = [...cursors.values()].reduce(
    (least, cursor) => Math.min(least, cursor),
    Number.MAX_SAFE_INTEGER,
  );
  // The first row, of no endpoint, tells where the walk ended.
  const [end = [], ...behind] = await reader.search(
    foundByKeys(sql`
    WITH walked AS (
      SELECT event, endpoint FROM ${names.table('$delivery')}
      WHERE ${names.instance.condition} AND event > ${begin}${inTime(names)} ORDER BY event DESC${limit(max)})
    SELECT 0, count(*), min(event) FROM walked UNION ALL
    SELECT l.endpoint, count(*), min(w.event)
    FROM walked w JOIN ${names.table('$lane')} l ON ${names.instance.conditionOf('l')} AND l.endpoint = w.endpoint AND w.event > l.cursor
    WHERE l.endpoint${isListed} AND NOT EXISTS (
      SELECT 1 FROM ${outcome} o WHERE ${names.instance.conditionOf('o')} AND o.event = w.event AND o.endpoint = w.endpoint)
    GROUP BY l.endpoint ORDER BY 1`),
  );
  const failed = await reader.search(
    foundByKeys(sql`
    SELECT endpoint, count(*), min(event) FROM (
      SELECT event, endpoint FROM ${outcome}
      WHERE ${names.instance.condition} AND status = 'pending' AND status <> 'delivered'${inTime(names)} ORDER BY event${limit(max)}) AS failed
    GROUP BY endpoint`),
  );
  const [, walked, first] = end;
  const isCut = Number(walked) >= max;
  const isFull = failed.reduce((sum, [, count]) => sum + Number(count), 0) >= max;
  const rows = Map.groupBy([...behind, ...failed], ([endpoint]) => Number(endpoint));
  const positions = new Map(
    [...rows].map(([endpoint, some]) => [endpoint, Math.min(...some.map(([, , event]) => Number(event)))]),
  );
  const times = await readTimes(reader, [...new Set(positions.values())]);
  return (endpoint) => ({
    waiting: (rows.get(endpoint) ?? []).reduce((sum, [, count]) => sum + Number(count), 0),
    isAtLeast: isFull || (isCut && (cursors.get(endpoint) ?? 0) < Number(first) - 1),
    oldest: times.get(positions.get(endpoint) ?? 0),
  });
}

async function readTimes(
  reader: Reader,
  positions: readonly number[],
): Promise<ReadonlyMap<number, Timestamp>> {
  const { names } = reader;
  if (positions.length === 0) return new Map();
  const rows = await reader.tuples(
    foundByKeys(sql`
    SELECT position, created FROM ${names.table('$event')}
    WHERE ${names.instance.condition} AND position${names.anyNumberOf(positions)}`),
  );
  return new Map(rows.map(([position, created]) => [Number(position), String(created)]));
}

/** More are not counted, so that a day on which everything fails makes no request slow. */
export const exhaustedCountMax = 1_000;

/** Returns how many deliveries were exhausted since a time, and are so still: at most `exhaustedCountMax`. */
export async function countExhausted(reader: Reader, since: Timestamp): Promise<number> {
  const { names } = reader;
  const exhausted = sql`
    SELECT count(*) FROM (
      SELECT event FROM ${names.table('$outcome')} WHERE ${names.instance.condition} AND status = 'exhausted' AND updated > ${since}
      LIMIT CAST(${exhaustedCountMax} AS bigint)) AS exhausted`;
  const [row] = await reader.tuples(foundByKeys(exhausted));
  return Number(row?.[0]);
}

/** More are not counted by one read, neither of those that were never attempted nor of those that are retried. */
export const backlogMax = 10_000;

/** Counts the pending deliveries of active endpoints, each kind at most `backlogMax`, and returns the time of the oldest event. */
export async function readBacklog(
  reader: Reader,
): Promise<{ readonly waiting: number; readonly oldest: Timestamp | undefined }> {
  const { names } = reader;
  const outcome = names.table('$outcome');
  const active = sql`
    SELECT p.position AS endpoint, l.cursor FROM ${names.table('$endpoint')} p
    JOIN ${names.table('$lane')} l ON ${names.instance.conditionOf('l')} AND l.endpoint = p.position
    WHERE ${names.instance.conditionOf('p')} AND p.status = 'active'`;
  const backlog = sql`
    WITH active AS (${active}),
    walked AS (
      SELECT event, endpoint FROM ${names.table('$delivery')}
      WHERE ${names.instance.condition} AND event > (SELECT min(cursor) FROM active)${inTime(names)} ORDER BY event${limit(walkMax)}),
    waiting AS (
      SELECT * FROM (
        SELECT w.event FROM walked w JOIN active a ON a.endpoint = w.endpoint AND w.event > a.cursor
        WHERE NOT EXISTS (
          SELECT 1 FROM ${outcome} o WHERE ${names.instance.conditionOf('o')} AND o.event = w.event AND o.endpoint = w.endpoint)
        ORDER BY w.event${limit(backlogMax + 1)}) AS behind_cursor
      UNION ALL SELECT * FROM (
        SELECT o.event FROM ${outcome} o JOIN active a ON a.endpoint = o.endpoint
        WHERE ${names.instance.conditionOf('o')} AND o.status = 'pending' AND o.status <> 'delivered' ORDER BY o.event${limit(backlogMax + 1)}) AS failed)
    SELECT (SELECT count(*) FROM waiting), (
      SELECT created FROM ${names.table('$event')} WHERE ${names.instance.condition} AND position = (SELECT min(event) FROM waiting))`;
  const [row] = await reader.search(foundByKeys(backlog), { isQuick: true });
  const [waiting, oldest] = row ?? [];
  return { waiting: Number(waiting), oldest: typeof oldest === 'string' ? oldest : undefined };
}
