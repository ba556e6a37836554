import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { InlineColumn, Reader, Transaction, Tuple } from '../storage/database.ts';
import type { DeliveryKey } from './deliveries.ts';
import { type Percentiles, readPercentiles, withinTime } from './endpoint-hours.ts';

/**
 * How the deliveries of each endpoint ended, day by day, for contracts about them. A day has a row for each way to end, and one for each
 * latency of those that were delivered: the time from the commit of the change to the end of the answer, in milliseconds, rounded up to two
 * digits. So no figure is better than what happened, and none is worse by more than a tenth. They are written in the transaction that ends the
 * deliveries, and stay when the log is trimmed.
 */
export const endpointDaysKept = 400;

const dayMs = 86_400_000;

export const deliveryEnds = ['delivered', 'exhausted', 'expired'] as const;
export type DeliveryEnd = (typeof deliveryEnds)[number];

/** Deliveries that have ended. */
export interface EndedDeliveries {
  /** The number of their endpoint. */
  readonly endpoint: number;
  readonly end: DeliveryEnd;
  /** From the commit to the end of the answer; 0 if it was not delivered. */
  readonly latencyMs: number;
  readonly count: number;
}

/** Returns deliveries of an endpoint that have expired. */
export function expiredOf(endpoint: number, count: number): EndedDeliveries {
  return { endpoint, end: 'expired', latencyMs: 0, count };
}

/** Rounds a latency up to two digits. */
export function roundedLatency(ms: number): number {
  const whole = Math.max(1, Math.ceil(ms));
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(whole)) - 1);
  return Math.ceil(whole / unit) * unit;
}

const columns: readonly InlineColumn[] = [
  ['endpoint', 'number'],
  ['day', 'number'],
  ['result', 'text'],
  ['latency', 'number'],
  ['count', 'number'],
];

/** Adds deliveries to the day on which they ended: that of `now`, in milliseconds since 1970. */
export async function addToDays(
  tx: Transaction,
  ended: readonly EndedDeliveries[],
  now: number,
): Promise<void> {
  if (ended.length === 0) return;
  const day = Math.floor(now / dayMs);
  const counts = new Map<string, readonly [number, number, string, number, number]>();
  for (const { endpoint, end, latencyMs, count } of ended) {
    const latency = end === 'delivered' ? roundedLatency(latencyMs) : 0;
    const key = `${endpoint} ${end} ${latency}`;
    counts.set(key, [endpoint, day, end, latency, (counts.get(key)?.[4] ?? 0) + count]);
  }
  const { names } = tx;
  // In the order of the key, as another node may add to the same rows.
  const rows: readonly Tuple[] = [...counts.values()].toSorted(
    ([e1, , r1, l1], [e2, , r2, l2]) => e1 - e2 || (r1 < r2 ? -1 : r1 > r2 ? 1 : l1 - l2),
  );
  await tx.run(sql`
    INSERT INTO ${names.table('$endpoint_day')} AS h (${names.instance.column}endpoint, day, result, latency, count)
    SELECT ${names.instance.value}CAST(endpoint AS bigint), CAST(day AS bigint), result, CAST(latency AS bigint), CAST(count AS bigint)
    FROM ${names.valuesTable(columns, rows)} WHERE TRUE
    ON CONFLICT (${names.instance.column}endpoint, day, result, latency) DO UPDATE SET count = h.count + excluded.count`);
}

/** An attempt of a delivery by its number. */
export interface NumberedAttempt {
  readonly key: DeliveryKey;
  readonly number: number;
}

/** Returns those of the attempts whose delivery was delivered by an earlier one: somebody has requested it again. */
export async function deliveredBefore<Attempt extends NumberedAttempt>(
  reader: Reader,
  attempts: readonly Attempt[],
): Promise<ReadonlySet<Attempt>> {
  const { names } = reader;
  const again = new Set<Attempt>();
  for (const attempt of attempts) {
    const { event, endpoint } = attempt.key;
    const rows = await reader.tuples(sql`
      SELECT 1 FROM ${names.table('$attempt')} WHERE ${names.instance.condition} AND event = ${event} AND endpoint = ${endpoint}
        AND number < ${attempt.number} AND kind = 'success' LIMIT 1`);
    if (rows.length > 0) again.add(attempt);
  }
  return again;
}

/** Removes the days of an instance that are no longer kept. */
export async function trimDays(tx: Transaction, now: number): Promise<void> {
  const { names } = tx;
  // An index leads to the days of each endpoint, and to none of them without its number.
  await tx.run(sql`
    DELETE FROM ${names.table('$endpoint_day')} WHERE ${names.instance.condition} AND day < ${Math.floor(now / dayMs) - endpointDaysKept}
      AND endpoint IN (SELECT position FROM ${names.table('$endpoint')} WHERE ${names.instance.condition})`);
}

/** Days since 1970, from `start` on and before `end`. */
export interface DayRange {
  readonly start: number;
  readonly end: number;
}

/** The deliveries of a day that ended in one way. */
export interface DayCount {
  readonly day: number;
  readonly end: string;
  readonly count: number;
  /** How many of them were delivered within each of the requested times. */
  readonly within: readonly number[];
}

export interface DayFigures {
  readonly counts: readonly DayCount[];
  /** By the number of the day from the start of the range; under `allSteps` those of all together. */
  readonly percentiles: ReadonlyMap<number, Percentiles>;
}

/** Reads the days of an endpoint. `withinMs` are times in milliseconds. */
export async function readDays(
  reader: Reader,
  endpoint: number,
  { start, end, withinMs }: DayRange & { readonly withinMs: readonly number[] },
): Promise<DayFigures> {
  const { names } = reader;
  const where = withinTime(names, sql`endpoint = ${endpoint}`, sql`day`);
  const from = sql`FROM ${names.table('$endpoint_day')}
    WHERE ${names.instance.condition} AND ${where} AND day >= ${start} AND day < ${end}`;
  const sums = withinMs.map(
    (ms): Sql => sql`CAST(sum(CASE WHEN latency <= ${ms} THEN count ELSE 0 END) AS bigint)`,
  );
  const values = joinSql([sql`day`, sql`result`, sql`CAST(sum(count) AS bigint)`, ...sums], ', ');
  const rows = await reader.search(sql`SELECT ${values} ${from} GROUP BY day, result`);
  const step = sql`CAST(day - ${start} AS bigint)`;
  const percentiles = await readPercentiles(reader, step, sql`${from} AND result = 'delivered'`);
  return {
    counts: rows.map(([day, result, count, ...within]) => ({
      day: Number(day),
      end: String(result),
      count: Number(count),
      within: within.map(Number),
    })),
    percentiles,
  };
}
