import { sql, type Sql } from '../sql/sql.ts';
import type { Reader, Transaction, Tuple } from '../storage/database.ts';
import { closedLane, type LaneMemory } from './lane.ts';

/** A change of a lane that is to be stored; `updated` is when its endpoint was changed last, as the lane knows it. */
export interface LaneRow {
  /** The number of the endpoint. */
  readonly endpoint: number;
  readonly updated: string;
  readonly lane: LaneMemory;
  /** Up to which position every delivery has an outcome, or is to have none. */
  readonly cursor: number;
}

/** Alerts that were sent about an endpoint, so that none is sent twice, by another process or node either. */
export interface LaneAlerts {
  /** `open`: the breaker has been open for an hour · `disabled`: the endpoint was disabled · empty: it recovered, or none was sent. */
  readonly alert: '' | 'open' | 'disabled';
  /** When the last alert of a recovery was sent, in milliseconds since 1970; 0 when there was none. */
  readonly recoveredAt: number;
  /** The day of the last alert of an exhausted delivery, as `2026-11-20`; empty when there was none. */
  readonly exhaustedDay: string;
}

/** What decides about alerts. */
export interface AlertState extends Pick<LaneRow, 'updated' | 'lane'> {
  readonly alerts: LaneAlerts;
}

export const noAlerts: LaneAlerts = { alert: '', recoveredAt: 0, exhaustedDay: '' };

/** Reads the lanes of an instance, by the numbers of their endpoints. */
export async function readLanes(
  reader: Reader,
): Promise<
  ReadonlyMap<
    number,
    Pick<LaneRow, 'lane' | 'cursor'> & { readonly undecided: string; readonly alerts: LaneAlerts }
  >
> {
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT endpoint, cursor, undecided, state, since, probe_at, probe_delay, held_until, cause, alert, recovered_at, exhausted_day FROM ${names.table('$lane')} WHERE ${names.instance.condition}`);
  return new Map(
    rows.map(
      ([endpoint, cursor, undecided, state, since, probeAt, probeDelayMs, heldUntil, cause, ...alerts]) => [
        Number(endpoint),
        {
          cursor: Number(cursor),
          undecided: String(undecided),
          alerts: toAlerts(alerts),
          lane: {
            state: storedStates.find((one) => one === state) ?? 'closed',
            since: Number(since),
            probeAt: Number(probeAt),
            probeDelayMs: Number(probeDelayMs),
            heldUntil: Number(heldUntil),
            cause: String(cause),
          },
        },
      ],
    ),
  );
}

function toAlerts([alert, recoveredAt, exhaustedDay]: Tuple): LaneAlerts {
  return {
    alert: (['open', 'disabled'] as const).find((one) => one === alert) ?? '',
    recoveredAt: Number(recoveredAt),
    exhaustedDay: String(exhaustedDay),
  };
}

const storedStates: readonly LaneMemory['state'][] = ['open', 'slow', 'blocked'];

const stateColumns = sql`state, since, probe_at, probe_delay, held_until, cause`;

function stateValues({ state, since, probeAt, probeDelayMs, heldUntil, cause }: LaneMemory): Sql {
  return sql`${state}, CAST(${since} AS bigint), CAST(${probeAt} AS bigint), CAST(${probeDelayMs} AS bigint),
      CAST(${heldUntil} AS bigint), ${cause}`;
}

/**
 * Stores a lane while `fence` holds. An endpoint that was changed meanwhile is skipped: resuming it or changing its URL has
 * closed its lane, and skipping its backlog has moved its cursor.
 */
export async function saveLane(
  tx: Transaction,
  { endpoint, updated, lane, cursor }: LaneRow,
  fence: Sql,
): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$lane')} SET cursor = CASE WHEN cursor < ${cursor} THEN ${cursor} ELSE cursor END, (${stateColumns}) = (${stateValues(lane)})
    WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND ${fence} AND ${isUnchanged(tx, { endpoint, updated })}`);
}

function isUnchanged(
  { names }: Transaction,
  { endpoint, updated }: Pick<LaneRow, 'endpoint' | 'updated'>,
): Sql {
  return sql`EXISTS (
      SELECT 1 FROM ${names.table('$endpoint')} WHERE ${names.instance.condition} AND position = ${endpoint} AND updated = ${updated})`;
}

/** An alert that is about to be sent. */
export interface AlertRow extends Pick<LaneRow, 'endpoint' | 'updated'> {
  readonly before: LaneAlerts;
  readonly after: LaneAlerts;
}

/**
 * Stores that an alert is sent, while `fence` holds, and returns whether this is the first time: a commit of unknown outcome may have
 * stored it, or another node. An endpoint that was changed meanwhile gets no alert.
 */
export async function saveAlert(tx: Transaction, row: AlertRow, fence: Sql): Promise<boolean> {
  const { names } = tx;
  const { endpoint, before, after } = row;
  const changed = await tx.run(sql`
    UPDATE ${names.table('$lane')} SET alert = ${after.alert}, recovered_at = CAST(${after.recoveredAt} AS bigint), exhausted_day = ${after.exhaustedDay}
    WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND alert = ${before.alert} AND exhausted_day = ${before.exhaustedDay}
      AND ${fence} AND ${isUnchanged(tx, row)}`);
  return changed > 0;
}

/** Stores the alert that an endpoint is disabled, which its status says as well. */
export async function saveDisabledAlert(tx: Transaction, endpoint: number): Promise<void> {
  const { names } = tx;
  await tx.run(
    sql`UPDATE ${names.table('$lane')} SET alert = 'disabled' WHERE ${names.instance.condition} AND endpoint = ${endpoint}`,
  );
}

/** Begins the lane of a new endpoint at the end of the log: it gets later events only. To be called while nothing else is written. */
export async function openLane(tx: Transaction, endpoint: number): Promise<void> {
  const { names } = tx;
  const end = sql`(SELECT coalesce(max(position), 0) FROM ${names.table('$event')} WHERE ${names.instance.condition})`;
  await tx.run(sql`
    INSERT INTO ${names.table('$lane')} (${names.instance.column}endpoint, cursor, ${stateColumns})
    VALUES (${names.instance.value}${endpoint}, ${end}, ${stateValues(closedLane)})`);
}

/** Of which probe a lane is half-opened: of the receiver that it had, or of one that may be another. */
export type HalfOpening = 'same receiver' | 'another receiver';

const firstProbeDelayMs = 5_000;

/**
 * Makes one probe due at once if the breaker is open, or if the receiver sent Retry-After; returns whether either was the case. After a
 * change of the receiver, the time since it failed starts again, and so do the delays.
 */
export async function halfOpenLane(
  tx: Transaction,
  endpoint: number,
  { of, now }: { readonly of: HalfOpening; readonly now: number },
): Promise<boolean> {
  const { names } = tx;
  const isKept = of === 'same receiver' ? sql`state = 'open'` : sql`FALSE`;
  const changed = await tx.run(sql`
    UPDATE ${names.table('$lane')} SET state = 'open', since = CASE WHEN ${isKept} THEN since ELSE CAST(${now} AS bigint) END, probe_at = 0,
      probe_delay = CASE WHEN ${isKept} THEN probe_delay ELSE CAST(${firstProbeDelayMs} AS bigint) END, held_until = 0
    WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND (state = 'open' OR (state <> 'blocked' AND held_until > ${now}))`);
  return changed > 0;
}

/** Closes the lane of an endpoint. Its cursor stays. */
export async function closeLane(tx: Transaction, endpoint: number): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$lane')} SET (${stateColumns}) = (${stateValues(closedLane)}) WHERE ${names.instance.condition} AND endpoint = ${endpoint}`);
}
