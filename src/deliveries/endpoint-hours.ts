import { sql, type Sql } from '../sql/sql.ts';
import type { InlineColumn, Names, Reader, Transaction, Tuple } from '../storage/database.ts';
import type { AttemptResult } from '../sending/attempt-result.ts';

/**
 * The results of the attempts of each endpoint, hour by hour. An hour has a row for each kind of result and each range of latencies, with
 * their count: so results are added by one statement, hours are merged into days by sums, and percentiles come of any range of time.
 * They are written in the transaction of the attempts they count, and stay when the log is trimmed.
 */

const hourMs = 3_600_000;

/** Latencies have eight buckets for each octave: within 4.5 %. */
const bucketsPerOctave = 8;

/** Returns the number of the range that a latency lies in: 0 below a millisecond. */
function latencyBucket(ms: number): number {
  return ms < 1 ? 0 : 1 + Math.floor(Math.log2(ms) * bucketsPerOctave);
}

/** Returns the latency in the middle of such a range, in milliseconds. */
export function bucketMs(bucket: number): number {
  return bucket === 0 ? 0.5 : 2 ** ((bucket - 0.5) / bucketsPerOctave);
}

/** The result of an exhausted delivery; beside the row of its last attempt. */
const exhausted = 'exhausted';

const columns: readonly InlineColumn[] = [
  ['endpoint', 'number'],
  ['hour', 'number'],
  ['result', 'text'],
  ['latency', 'number'],
  ['count', 'number'],
];

/** An attempt that has ended. */
export interface EndedAttempt {
  /** The number of its endpoint. */
  readonly endpoint: number;
  readonly result: AttemptResult;
  /** Whether its delivery is exhausted by it. */
  readonly isLast: boolean;
}

/** Adds attempts to the hours in which they began. */
export async function addToHours(tx: Transaction, attempts: readonly EndedAttempt[]): Promise<void> {
  const counts = new Map<string, HourRow>();
  const add = (row: readonly [endpoint: number, hour: number, result: string, latency: number]): void => {
    const key = row.join(' ');
    counts.set(key, [...row, (counts.get(key)?.[4] ?? 0) + 1]);
  };
  for (const { endpoint, result, isLast } of attempts) {
    const hour = Math.floor(result.startedAt / hourMs);
    add([endpoint, hour, result.kind, latencyBucket(result.timings.totalMs ?? 0)]);
    if (isLast) add([endpoint, hour, exhausted, 0]);
  }
  if (counts.size === 0) return;
  const { names } = tx;
  // In the order of the key, as another node may add to the same rows.
  const rows: readonly Tuple[] = [...counts.values()].toSorted(byKey);
  await tx.run(sql`
    INSERT INTO ${names.table('$endpoint_hour')} AS h (${names.instance.column}endpoint, hour, result, latency, count)
    SELECT ${names.instance.value}CAST(endpoint AS bigint), CAST(hour AS bigint), result, CAST(latency AS bigint), CAST(count AS bigint)
    FROM ${names.valuesTable(columns, rows)} WHERE TRUE
    ON CONFLICT (${names.instance.column}endpoint, hour, result, latency) DO UPDATE SET count = h.count + excluded.count`);
}

/** Counts the attempts that have begun on the day of this time, in UTC, and were accepted. */
export async function countDeliveredToday(reader: Reader, nowMs: number): Promise<number> {
  const { names } = reader;
  const hour = Math.floor(nowMs / hourMs);
  // An index leads to the hours of each endpoint, and to none of them without its number.
  const [row] = await reader.tuples(sql`
    SELECT coalesce(sum(count), 0) FROM ${names.table('$endpoint_hour')}
    WHERE ${names.instance.condition} AND hour >= ${hour - (hour % 24)} AND result = 'success'
      AND endpoint IN (SELECT position FROM ${names.table('$endpoint')} WHERE ${names.instance.condition})`);
  return Number(row?.[0]);
}

type HourRow = readonly [endpoint: number, hour: number, result: string, latency: number, count: number];

function byKey([e1, h1, r1, l1]: HourRow, [e2, h2, r2, l2]: HourRow): number {
  return e1 - e2 || h1 - h2 || (r1 < r2 ? -1 : r1 > r2 ? 1 : l1 - l2);
}

/** Attempts of one kind, of the step of time with this number. */
export interface StepCount {
  readonly step: number;
  readonly result: string;
  readonly count: number;
}

/** The ranges of latencies below or in which half, 95 % and 99 % of the attempts lie that have succeeded. */
export type Percentiles = readonly [p50: number, p95: number, p99: number];

/** The results of the attempts of some hours. */
export interface HourCounts {
  readonly counts: readonly StepCount[];
  /** By the number of the step; under {@link allSteps} those of all together. There are none where no attempt has succeeded. */
  readonly percentiles: ReadonlyMap<number, Percentiles>;
}

export const allSteps = -1;

/** Hours since 1970, from `start` on and before `end`, by steps of so many. */
export interface HourRange {
  readonly start: number;
  readonly end: number;
  readonly hours: number;
}

/** Reads the counts of an endpoint by steps. */
export function readHours(reader: Reader, endpoint: number, range: HourRange): Promise<HourCounts> {
  return readCounts(reader, sql`endpoint = ${endpoint}`, range);
}

/** An endpoint that accepted nothing. */
export interface FailingEndpoint {
  /** Its id. */
  readonly endpoint: string;
  /** How many attempts have failed. */
  readonly attempts: number;
}

const failingMax = 100;

/** Reads the endpoints that accepted nothing in these hours in spite of attempts: at most 100, those with the most attempts first. */
export async function readFailing(
  reader: Reader,
  { start, end }: HourRange,
): Promise<readonly FailingEndpoint[]> {
  const { names } = reader;
  const isCounted = sql`${names.instance.conditionOf('p')} AND p.deleted = '' AND h.result <> ${exhausted}`;
  const rows = await reader.search(sql`
    SELECT p.id, CAST(sum(h.count) AS bigint) FROM ${names.table('$endpoint')} p
    JOIN ${names.table('$endpoint_hour')} h ON ${names.instance.conditionOf('h')} AND h.endpoint = p.position AND h.hour >= ${start} AND h.hour < ${end}
    WHERE ${withinTime(names, isCounted, sql`h.hour`)}
    GROUP BY p.id HAVING max(CASE WHEN h.result = 'success' THEN 1 ELSE 0 END) = 0 ORDER BY 2 DESC, 1 LIMIT ${failingMax}`);
  return rows.map(([endpoint, attempts]) => ({ endpoint: String(endpoint), attempts: Number(attempts) }));
}

/** What became of the attempts of an endpoint. */
export interface DayCounts {
  readonly attempts: number;
  readonly delivered: number;
  readonly exhausted: number;
}

/** Reads the counts of the last 24 hours, from the beginning of an hour on, by the numbers of the endpoints. */
export async function readDayCounts(
  reader: Reader,
  endpoints: readonly number[],
  nowMs: number,
): Promise<ReadonlyMap<number, DayCounts>> {
  const { names } = reader;
  const isCounted = sql`endpoint${names.anyNumberOf(endpoints)}`;
  const from = Math.floor((nowMs - 24 * hourMs) / hourMs);
  const sumOf = (condition: Sql): Sql =>
    sql`CAST(sum(CASE WHEN ${condition} THEN count ELSE 0 END) AS bigint)`;
  const rows = await reader.search(sql`
    SELECT endpoint, ${sumOf(sql`result <> ${exhausted}`)}, ${sumOf(sql`result = 'success'`)}, ${sumOf(sql`result = ${exhausted}`)}
    FROM ${names.table('$endpoint_hour')}
    WHERE ${names.instance.condition} AND ${withinTime(names, isCounted, sql`hour`)} AND hour >= ${from} GROUP BY endpoint`);
  return new Map(
    rows.map(([endpoint, attempts, delivered, ended]) => [
      Number(endpoint),
      { attempts: Number(attempts), delivered: Number(delivered), exhausted: Number(ended) },
    ]),
  );
}

/** Reads the counts of all endpoints together by steps, of deleted ones as long as they are kept. */
export function readAllHours(reader: Reader, range: HourRange): Promise<HourCounts> {
  const { names } = reader;
  // An index leads to the hours of each endpoint, and to none of them without its number.
  return readCounts(
    reader,
    sql`endpoint IN (SELECT position FROM ${names.table('$endpoint')} WHERE ${names.instance.condition})`,
    range,
  );
}

/** The engine adds up and sorts: a month of hours has hundreds of ranges of latencies each, which would hold up this thread. */
async function readCounts(reader: Reader, where: Sql, range: HourRange): Promise<HourCounts> {
  const { names } = reader;
  const { start, end, hours } = range;
  const step = sql`CAST((hour - ${start}) / ${hours} AS bigint)`;
  const from = sql`FROM ${names.table('$endpoint_hour')}
    WHERE ${names.instance.condition} AND ${withinTime(names, where, sql`hour`)} AND hour >= ${start} AND hour < ${end}`;
  const counts = await reader.search(
    sql`SELECT ${step}, result, CAST(sum(count) AS bigint) ${from} GROUP BY 1, result`,
  );
  const percentiles = await readPercentiles(reader, step, sql`${from} AND result = 'success'`);
  return {
    counts: counts.map(([at, result, count]) => ({
      step: Number(at),
      result: String(result),
      count: Number(count),
    })),
    percentiles,
  };
}

/**
 * Reads the ranges of latencies in which percentiles lie, by steps and under {@link allSteps} of all together. `from` are rows with a
 * `latency` and a `count`.
 */
export async function readPercentiles(
  reader: Reader,
  step: Sql,
  from: Sql,
): Promise<ReadonlyMap<number, Percentiles>> {
  const percentiles = await reader.search(sql`
    WITH ranges AS (SELECT ${step} AS step, latency, sum(count) AS count ${from} GROUP BY 1, latency),
    all_ranges AS (SELECT step, latency, count FROM ranges UNION ALL SELECT ${allSteps}, latency, sum(count) FROM ranges GROUP BY latency),
    ranked AS (
      SELECT step, latency, sum(count) OVER (PARTITION BY step ORDER BY latency) AS counted, sum(count) OVER (PARTITION BY step) AS total
      FROM all_ranges)
    SELECT CAST(step AS bigint), min(CASE WHEN counted >= total * 0.5 THEN latency END), min(CASE WHEN counted >= total * 0.95 THEN latency END),
      min(CASE WHEN counted >= total * 0.99 THEN latency END)
    FROM ranked GROUP BY step`);
  return new Map(
    percentiles.map(([at, p50, p95, p99]) => [Number(at), [Number(p50), Number(p95), Number(p99)]]),
  );
}

/** Adds to a condition on hours or days that the query timeout has not passed, where the engine does not end the statement itself. */
export function withinTime(names: Names, condition: Sql, hour: Sql): Sql {
  const isInTime = names.isInTime(hour, 'for some');
  return isInTime === undefined ? condition : sql`${condition} AND ${isInTime}`;
}
