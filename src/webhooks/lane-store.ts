import { sql, type Sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import { closedLane, type StoredLane } from './lane.ts';

/** A change of a lane that is to be stored; `updated` is when its endpoint was changed last, as the lane knows it. */
export interface LaneRow {
  /** The number of the endpoint. */
  readonly endpoint: number;
  readonly updated: string;
  readonly lane: StoredLane;
  /** Up to which position every delivery has an outcome, or is to have none. */
  readonly cursor: number;
}

/** Reads the lanes of an instance, by the numbers of their endpoints. */
export async function readLanes(
  reader: Reader,
): Promise<ReadonlyMap<number, Pick<LaneRow, 'lane' | 'cursor'>>> {
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT endpoint, cursor, state, since, probe_at, probe_delay, held_until, cause FROM ${names.table('$lane')} WHERE ${names.scope}`);
  return new Map(
    rows.map(([endpoint, cursor, state, since, probeAt, probeDelayMs, heldUntil, cause]) => [
      Number(endpoint),
      {
        cursor: Number(cursor),
        lane: {
          state: storedStates.find((one) => one === state) ?? 'closed',
          since: Number(since),
          probeAt: Number(probeAt),
          probeDelayMs: Number(probeDelayMs),
          heldUntil: Number(heldUntil),
          cause: String(cause),
        },
      },
    ]),
  );
}

const storedStates: readonly StoredLane['state'][] = ['open', 'slow', 'blocked'];

const stateColumns = sql`state, since, probe_at, probe_delay, held_until, cause`;

function stateValues({ state, since, probeAt, probeDelayMs, heldUntil, cause }: StoredLane): Sql {
  return sql`${state}, CAST(${since} AS bigint), CAST(${probeAt} AS bigint), CAST(${probeDelayMs} AS bigint),
      CAST(${heldUntil} AS bigint), ${cause}`;
}

/**
 * Stores a lane while `fence` holds. An endpoint that was changed meanwhile is left alone: resuming it or giving it another URL has
 * closed its lane, and skipping what waits has moved its cursor.
 */
export async function saveLane(
  tx: Transaction,
  { endpoint, updated, lane, cursor }: LaneRow,
  fence: Sql,
): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$lane')} SET cursor = CASE WHEN cursor < ${cursor} THEN ${cursor} ELSE cursor END, (${stateColumns}) = (${stateValues(lane)})
    WHERE ${names.scope} AND endpoint = ${endpoint} AND ${fence} AND EXISTS (
      SELECT 1 FROM ${names.table('$endpoint')} WHERE ${names.scope} AND position = ${endpoint} AND updated = ${updated})`);
}

/** Begins the lane of a new endpoint at the end of the log: it is told of what comes. To be called while nothing else is written. */
export async function openLane(tx: Transaction, endpoint: number): Promise<void> {
  const { names } = tx;
  const end = sql`(SELECT coalesce(max(position), 0) FROM ${names.table('$event')} WHERE ${names.scope})`;
  await tx.run(sql`
    INSERT INTO ${names.table('$lane')} (${names.scopeColumn}endpoint, cursor, ${stateColumns})
    VALUES (${names.scopeValue}${endpoint}, ${end}, ${stateValues(closedLane)})`);
}

/** Closes the lane of an endpoint. Its cursor stays. */
export async function closeLane(tx: Transaction, endpoint: number): Promise<void> {
  const { names } = tx;
  await tx.run(sql`
    UPDATE ${names.table('$lane')} SET (${stateColumns}) = (${stateValues(closedLane)}) WHERE ${names.scope} AND endpoint = ${endpoint}`);
}
