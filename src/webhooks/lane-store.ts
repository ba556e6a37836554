import { sql, type Sql } from '../sql/sql.ts';
import type { Reader, Transaction } from '../storage/database.ts';
import type { StoredLane } from './lane.ts';

/** A change of a lane that is to be stored; `updated` is when its endpoint was changed last, as the lane knows it. */
export interface LaneRow {
  readonly endpoint: string;
  readonly updated: string;
  readonly lane: StoredLane;
}

/** Reads the lanes of an instance that are not as they begin, by endpoint. */
export async function readLanes(reader: Reader): Promise<ReadonlyMap<string, StoredLane>> {
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT endpoint, state, since, probe_at, probe_delay, held_until, cause FROM ${names.table('$lane')} WHERE ${names.scope}`);
  return new Map(
    rows.map(([endpoint, state, since, probeAt, probeDelayMs, heldUntil, cause]) => [
      String(endpoint),
      {
        state: state === 'open' || state === 'slow' ? state : 'closed',
        since: Number(since),
        probeAt: Number(probeAt),
        probeDelayMs: Number(probeDelayMs),
        heldUntil: Number(heldUntil),
        cause: String(cause),
      },
    ]),
  );
}

/**
 * Stores a lane while `fence` holds. An endpoint that was changed meanwhile is left alone: resuming it or giving it another URL has
 * closed its lane.
 */
export async function saveLane(
  tx: Transaction,
  { endpoint, updated, lane }: LaneRow,
  fence: Sql,
): Promise<void> {
  const { names } = tx;
  const { state, since, probeAt, probeDelayMs, heldUntil, cause } = lane;
  await tx.run(sql`
    INSERT INTO ${names.table('$lane')} (${names.scopeColumn}endpoint, state, since, probe_at, probe_delay, held_until, cause)
    SELECT ${names.scopeValue}id, ${state}, CAST(${since} AS bigint), CAST(${probeAt} AS bigint), CAST(${probeDelayMs} AS bigint),
      CAST(${heldUntil} AS bigint), ${cause}
    FROM ${names.table('$endpoint')} WHERE ${names.scope} AND id = ${endpoint} AND updated = ${updated} AND ${fence}
    ON CONFLICT (${names.scopeColumn}endpoint) DO UPDATE SET state = excluded.state, since = excluded.since,
      probe_at = excluded.probe_at, probe_delay = excluded.probe_delay, held_until = excluded.held_until, cause = excluded.cause`);
}

/** Closes the lane of an endpoint. */
export async function closeLane(tx: Transaction, endpoint: string): Promise<void> {
  await tx.run(
    sql`DELETE FROM ${tx.names.table('$lane')} WHERE ${tx.names.scope} AND endpoint = ${endpoint}`,
  );
}
