import { foundByKeys, limit, sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';

export interface Look {
  readonly endpoint: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** No event at or before this position can appear any more. */
  readonly safe: number;
  /** Up to where it was decided before which events an endpoint of an account is told of; undefined for one without owner. */
  readonly decided?: number | undefined;
  readonly order?: Endpoint['order'];
  readonly batch?: Endpoint['batch'];
}

/** A delivery that is due again. */
export interface DueAgain {
  readonly event: number;
  readonly due: number;
  /** The batch that it belongs to; empty for none. */
  readonly batch: string;
}

/** What one read has found. */
export interface Due {
  /** Deliveries of the log without an outcome, in its order. */
  readonly first: readonly number[];
  /** Those that are due again, the longest due first; of a strict order the first one, whenever that is due. */
  readonly again: readonly DueAgain[];
  /** When the first of them was due. */
  readonly firstDue: number | undefined;
  /** When the first one is due that is not due yet. */
  readonly nextDue: number | undefined;
  /** The end of the log, the last of the lane's deliveries that were walked, and how many these are. */
  readonly end: number;
  readonly last: number;
  readonly walked: number;
}

/** What a read is limited to: deliveries of the lane behind `from`, and those that are due again since then. */
interface DueRange {
  readonly from: number;
  readonly walkMax: number;
  readonly since: number;
  readonly retriesMax: number;
}

/**
 * Reads what a lane may send by one statement, as each wake-up needs all of it. It finds the lane's own deliveries by an index: with a
 * thousand endpoints, the log has a thousand times as many.
 */
export async function readDue(
  reader: Reader,
  look: Pick<Look, 'endpoint' | 'now' | 'order' | 'safe' | 'batch'> & DueRange,
): Promise<Due> {
  const { names } = reader;
  const { endpoint, now, since, from, walkMax, retriesMax, order = 'none', safe, batch = null } = look;
  const outcome = names.table('$outcome');
  const pending = sql`FROM ${outcome} WHERE ${names.instance.condition} AND status = 'pending' AND endpoint = ${endpoint}`;
  const isStrict = order === 'strict';
  // Where an event may still appear before others, a strict order waits until none can.
  const upTo = isStrict && names.isConcurrent ? sql` AND event <= ${safe}` : sql``;
  const again = isStrict
    ? sql`due IS NOT NULL${upTo} ORDER BY event`
    : sql`due >= ${since} AND due <= ${now} ORDER BY due, event`;
  // No join: before PostgreSQL has statistics of the table, it would read all outcomes of the endpoint for each delivery.
  const outcomeOf = sql`
    SELECT o.event FROM ${outcome} o
    WHERE ${names.instance.conditionOf('o')} AND o.event = w.event AND o.endpoint = ${endpoint} AND o.event > ${from}`;
  const delivery = sql`FROM ${names.table('$delivery')} WHERE ${names.instance.condition}`;
  const [itsBatch, noBatch] = batch === null ? [sql``, sql``] : [sql`, batch`, sql`, NULL`];
  const due = sql`
    WITH walked AS MATERIALIZED (
      SELECT event ${delivery} AND endpoint = ${endpoint} AND event > ${from}${upTo} ORDER BY event${limit(walkMax)})
    SELECT 0, w.event, 0${noBatch} FROM walked w WHERE (${outcomeOf}) IS NULL
    UNION ALL SELECT 1, max(event), count(*)${noBatch} FROM walked
    UNION ALL SELECT 4, max(event), 0${noBatch} ${delivery} AND event > ${from}${upTo}
    UNION ALL SELECT * FROM (
      SELECT 2, event, due${itsBatch} ${pending} AND ${again} LIMIT CAST(${retriesMax} AS bigint)) AS again
    UNION ALL SELECT 3, 0, min(due)${noBatch} ${pending} AND due > ${now}`;
  const rows = await reader.tuples(foundByKeys(due));
  const of = (kind: number): [number, number][] =>
    rows.flatMap(([its, event, number]) => (Number(its) === kind ? [[Number(event), Number(number)]] : []));
  const dueAgain = rows
    .filter(([kind]) => Number(kind) === 2)
    .map(([, event, time, id]) => ({ event: Number(event), due: Number(time), batch: String(id ?? '') }))
    .toSorted((a, b) => (isStrict ? 0 : a.due - b.due) || a.event - b.event);
  const [[last, walked] = [0, 0]] = of(1);
  const [[end] = [0]] = of(4);
  const nextDue = rows.find(([kind]) => Number(kind) === 3)?.[2];
  return {
    first: of(0)
      .map(([event]) => event)
      .toSorted((a, b) => a - b),
    again: dueAgain,
    firstDue: dueAgain[0]?.due,
    nextDue: typeof nextDue === 'number' ? nextDue : undefined,
    end,
    last,
    walked,
  };
}
