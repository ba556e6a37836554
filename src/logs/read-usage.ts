import { identifier, limit, literal, sql, type Sql } from '../sql/sql.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import type { Reader, Tuple } from '../storage/database.ts';
import { addedUp, togetherOf, type UsageGauge, usageLimits, type UsageSum } from './add-usage.ts';

export type UsageStep = 'hour' | 'day';

/** What one instance has used in an hour or a day. A gauge that was not measured then is null. */
export interface Usage {
  readonly instance: string;
  /** The beginning of the hour or day, in UTC. */
  readonly at: Timestamp;
  readonly requests: number;
  readonly writes: number;
  readonly events: number;
  readonly deliveries: number;
  readonly sentBytes: number;
  readonly realtimeConnections: number;
  readonly records: number | null;
  readonly dataBytes: number | null;
  readonly fileBytes: number | null;
  readonly logBytes: number | null;
  readonly diskBytes: number | null;
}

export interface UsageQuery {
  /** The id of one instance; all of them when it is left out. */
  readonly instance?: string | undefined;
  /** Milliseconds since 1970: from the hour or day of this time to before the other time. */
  readonly from: number;
  readonly to: number;
  readonly step: UsageStep;
}

/** The most that is read at once. */
const rowsMax = 10_000;

/** Reads what instances have used, by hours or days, the oldest first. Hours are known for 35 days, days for 25 months. */
export async function readUsage(control: Reader, query: UsageQuery): Promise<readonly Usage[]> {
  const { step } = query;
  const stepMs = step === 'hour' ? usageLimits.hourMs : usageLimits.dayMs;
  const rows = await control.tuples(sql`
    SELECT instance, at - at % ${literal(stepMs)} AS began, ${addedUp} FROM ${control.names.table('$usage')}
    WHERE ${conditionOf(query, stepMs)}${step === 'hour' ? sql` AND step = 'hour'` : sql``}
    GROUP BY instance, at - at % ${literal(stepMs)} ORDER BY began, instance LIMIT ${rowsMax}`);
  return rows.map(toUsage);
}

export interface TopQuery {
  readonly by: UsageSum | UsageGauge;
  readonly max: number;
  /** The ids of the only instances that count; all of them when it is left out. */
  readonly among?: readonly string[] | undefined;
}

/** Reads the instances that have used most of something, those first, each with all that it used in that time. */
export async function readTopUsage(
  control: Reader,
  { from, to }: Pick<UsageQuery, 'from' | 'to'>,
  { by, max, among }: TopQuery,
): Promise<readonly Usage[]> {
  const { hourMs } = usageLimits;
  const isAmong = among === undefined ? sql`` : sql` AND instance${control.names.anyOf(among)}`;
  const rows = await control.tuples(sql`
    SELECT instance, min(at), ${addedUp} FROM ${control.names.table('$usage')}
    WHERE ${conditionOf({ from, to }, hourMs)}${isAmong} GROUP BY instance
    ORDER BY coalesce(${togetherOf[by]}, 0) DESC, instance LIMIT ${max}`);
  return rows.map(toUsage);
}

/** The bytes of an instance on disks of the service. */
export interface DiskUse {
  readonly data: number;
  readonly files: number;
}

/** Reads what each instance had on the disk when it was measured last, by its id; without those that were not for 35 days. */
export async function readDiskUse(control: Reader): Promise<ReadonlyMap<string, DiskUse>> {
  const { names } = control;
  // Looked up for each instance: it may have hundreds of hours.
  const last = (column: string): Sql => sql`(
    SELECT ${identifier(column)} FROM ${names.table('$usage')} u
    WHERE step = 'hour' AND u.instance = i.id AND disk_bytes IS NOT NULL ORDER BY at DESC${limit(1)})`;
  const rows = await control.search(
    sql`SELECT id, ${last('data_bytes')}, ${last('disk_bytes')} FROM ${names.table('$instance')} i`,
  );
  const uses = new Map<string, DiskUse>();
  for (const [id, dataBytes, diskBytes] of rows) {
    if (diskBytes === null || diskBytes === undefined) continue;
    const data = names.isConcurrent ? 0 : Number(dataBytes);
    uses.set(String(id), { data, files: Number(diskBytes) - data });
  }
  return uses;
}

/** Reads how many bytes the log of each instance had when it was measured last, as {@link readDiskUse} does. */
export async function readLogUse(control: Reader): Promise<ReadonlyMap<string, number>> {
  const { names } = control;
  const rows = await control.search(sql`
    SELECT id, (
      SELECT log_bytes FROM ${names.table('$usage')} u
      WHERE step = 'hour' AND u.instance = i.id AND log_bytes IS NOT NULL ORDER BY at DESC${limit(1)}) FROM ${names.table('$instance')} i`);
  return new Map(rows.flatMap(([id, bytes]) => (typeof bytes === 'number' ? [[String(id), bytes]] : [])));
}

function conditionOf(
  { instance, from, to }: Pick<UsageQuery, 'instance' | 'from' | 'to'>,
  stepMs: number,
): Sql {
  const ofInstance = instance === undefined ? sql`` : sql` AND instance = ${instance}`;
  return sql`step IN ('hour', 'day') AND at >= ${from - (from % stepMs)} AND at < ${to}${ofInstance}`;
}

function toUsage([instance, at, ...values]: Tuple): Usage {
  const members = Object.keys(togetherOf).map((name, index) => {
    const value = values[index];
    return [name, value === null || value === undefined ? null : Number(value)];
  });
  // The names are those of both lists, and only gauges can be null.
  return { instance: String(instance), at: toTimestamp(Number(at)), ...Object.fromEntries(members) } as Usage;
}
