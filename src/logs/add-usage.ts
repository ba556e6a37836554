import { identifier, joinSql, literal, sql, type Sql } from '../sql/sql.ts';
import type { Database, Names, Transaction } from '../storage/database.ts';

/** What is added up over time, and the columns of it. */
export const usageSums = {
  requests: 'requests',
  writes: 'writes',
  events: 'events',
  deliveries: 'deliveries',
  sentBytes: 'sent_bytes',
} as const;

/** What there is at a moment: of several moments, the largest counts. */
export const usageGauges = {
  realtimeConnections: 'realtime_connections',
  records: 'records',
  dataBytes: 'data_bytes',
  fileBytes: 'file_bytes',
  logBytes: 'log_bytes',
  diskBytes: 'disk_bytes',
} as const;

export type UsageSum = keyof typeof usageSums;
export type UsageGauge = keyof typeof usageGauges;

/** What an instance has used since it was last added; what is left out is nothing, or unknown. */
export type UsageCounts = { readonly [Name in UsageSum | UsageGauge]?: number };

export const usageLimits = {
  hourMs: 3_600_000,
  dayMs: 86_400_000,
  /** Hours are added up to days after so long, and days are removed. */
  hoursKeptMs: 35 * 86_400_000,
  daysKeptMs: 762 * 86_400_000,
} as const;

/** How many instances are written in one transaction. */
const instancesTogether = 200;

/** Adds what instances have used to the hour of this time. Several processes may add to the same hour. */
export async function addUsage(
  control: Database,
  usage: ReadonlyMap<string, UsageCounts>,
  nowMs: number,
): Promise<void> {
  const at = nowMs - (nowMs % usageLimits.hourMs);
  // Each process writes the rows in the same order, so that no two wait for each other.
  const all = [...usage].toSorted(([one], [other]) => (one < other ? -1 : 1));
  for (let from = 0; from < all.length; from += instancesTogether)
    await control.write(async (tx) => {
      for (const [instance, counts] of all.slice(from, from + instancesTogether))
        await tx.run(addition(tx.names, { instance, at, counts }));
    });
}

function addition(
  names: Names,
  { instance, at, counts }: { readonly instance: string; readonly at: number; readonly counts: UsageCounts },
): Sql {
  const sums = Object.keys(usageSums).map((name) => sql`${valueOf(counts, name) ?? 0}`);
  const all = { realtimeConnections: 0, ...counts };
  const gauges = Object.keys(usageGauges).map((name) => sql`CAST(${valueOf(all, name) ?? null} AS bigint)`);
  return sql`
    INSERT INTO ${names.table('$usage')} AS known (step, instance, at, ${columns})
    VALUES ('hour', ${instance}, ${at}, ${joinSql([...sums, ...gauges], ', ')})
    ON CONFLICT (step, instance, at) DO UPDATE SET ${merged}`;
}

function valueOf(counts: Readonly<Record<string, number | undefined>>, name: string): number | undefined {
  return counts[name];
}

const columns = joinSql([...Object.values(usageSums), ...Object.values(usageGauges)].map(identifier), ', ');

const merged = joinSql(
  [
    ...Object.values(usageSums).map((name) => {
      const column = identifier(name);
      return sql`${column} = known.${column} + excluded.${column}`;
    }),
    ...Object.values(usageGauges).map((name) => {
      const column = identifier(name);
      return sql`${column} = CASE WHEN known.${column} >= excluded.${column} OR excluded.${column} IS NULL THEN known.${column} ELSE excluded.${column} END`;
    }),
  ],
  ', ',
);

const togethers = [
  ...Object.entries(usageSums).map(
    ([name, column]) => [name, sql`CAST(sum(${identifier(column)}) AS bigint)`] as const,
  ),
  ...Object.entries(usageGauges).map(([name, column]) => [name, sql`max(${identifier(column)})`] as const),
];

/** Selects what several rows have together of something; null for a gauge that none of them has. Object.fromEntries widens their names. */
export const togetherOf = Object.fromEntries(togethers) as Readonly<Record<UsageSum | UsageGauge, Sql>>;

/** Selects the columns of several rows as one. */
export const addedUp = joinSql(Object.values(togetherOf), ', ');

/** Makes days of hours that are older than they are kept, and removes days that are. Does it alone: no other process adds the same hours up. */
export async function rollUpUsage(control: Database, nowMs: number): Promise<void> {
  const { dayMs, hoursKeptMs, daysKeptMs } = usageLimits;
  const from = nowMs - hoursKeptMs;
  const before = from - (from % dayMs);
  const table = control.names.table('$usage');
  const [oldest] = await control.tuples(sql`SELECT min(at) FROM ${table} WHERE step = 'hour'`);
  const isDue = typeof oldest?.[0] === 'number' && oldest[0] < before;
  const roll = async (tx: Transaction): Promise<void> => {
    await tx.run(sql`
      INSERT INTO ${table} AS known (step, instance, at, ${columns})
      SELECT 'day', instance, at - at % ${literal(dayMs)}, ${addedUp} FROM ${table}
      WHERE step = 'hour' AND at < ${before} GROUP BY instance, at - at % ${literal(dayMs)}
      ON CONFLICT (step, instance, at) DO UPDATE SET ${merged}`);
    await tx.run(sql`DELETE FROM ${table} WHERE step = 'hour' AND at < ${before}`);
  };
  if (isDue) await control.write(roll, { isExclusive: true });
  await control.write((tx) =>
    tx.run(sql`DELETE FROM ${table} WHERE step = 'day' AND at < ${nowMs - daysKeptMs}`),
  );
}
