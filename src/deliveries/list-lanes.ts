import type { Caller } from '../access/caller.ts';
import type { Timestamp } from '../base/timestamp.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { ListQuery } from '../query/list-query.ts';
import { column, columnResolver } from '../query/list-source.ts';
import { type ListResult, runList } from '../query/run-list.ts';
import { sql } from '../sql/sql.ts';
import type { Reader, Tuple } from '../storage/database.ts';
import { isReached } from '../endpoints/endpoint-reach.ts';
import { closedLane, type LaneMemory } from './lane.ts';
import { readLanes } from './lane-store.ts';
import type { WebhookInstance } from '../endpoints/webhook-instance.ts';

/** The state of delivery to an endpoint. */
export interface LaneState {
  /** `open` while it fails and is only probed, `slow` while it recovers, `blocked` by an exhausted delivery of a strict order. */
  readonly state: string;
  readonly cause: string;
  /** Why events could not be matched to an account's endpoint, so that it is behind the others; empty otherwise. */
  readonly undecided: string;
  /** Since when it fails, when it is probed next, and until when its Retry-After lasts; empty otherwise. */
  readonly since: Timestamp;
  readonly probeAt: Timestamp;
  readonly heldUntil: Timestamp;
}

export interface LaneView extends LaneState {
  /** The id of the endpoint, which names the lane. */
  readonly id: string;
  readonly url: string;
  /** Of the endpoint: whether it receives anything at all. */
  readonly status: string;
}

/** Returns a page of the lanes of endpoints, in the order in which these were made. */
export async function listLanes(
  { database, clock }: WebhookInstance,
  query: ListQuery,
  caller: Caller,
): Promise<ListResult<LaneView>> {
  const { names } = database;
  const now = clock.now();
  const endpoint = column('number', sql`l.endpoint`);
  const reached = isReached(names, endpoint.sql, caller);
  const isInTime = names.isInTime(endpoint.sql, 'for every row');
  const page = await runList(database, query, {
    columns: sql`p.id, p.url, p.status, l.state, l.cause, l.since, l.probe_at, l.held_until, l.undecided`,
    from: sql`${names.table('$lane')} l JOIN ${names.table('$endpoint')} p ON ${names.instance.conditionOf('p')} AND p.position = l.endpoint`,
    where:
      reached === undefined
        ? names.instance.conditionOf('l')
        : sql`${names.instance.conditionOf('l')} AND ${reached}`,
    ...(isInTime && { isInTime }),
    tieBreaker: endpoint,
    resolve: columnResolver({
      id: column('text', sql`p.id`),
      url: column('text', sql`p.url`),
      status: column('text', sql`p.status`),
      state: column('text', sql`l.state`),
      cause: column('text', sql`l.cause`),
      undecided: column('text', sql`l.undecided`),
    }),
    dialect: names.dialect,
    now,
  });
  return { ...page, items: page.items.map((row) => toView(row, now)) };
}

function toView(row: Tuple, now: number): LaneView {
  const [id, url, status, state, cause, since, probeAt, heldUntil, undecided] = row;
  const stored = {
    state: String(state),
    cause: String(cause),
    undecided: String(undecided),
    since: Number(since),
    probeAt: Number(probeAt),
    heldUntil: Number(heldUntil),
  };
  return { id: String(id), url: String(url), status: String(status), ...laneState(stored, now) };
}

interface StoredLane extends Pick<LaneMemory, 'since' | 'probeAt' | 'heldUntil' | 'cause'> {
  readonly state: string;
  readonly undecided: string;
}

/** Returns the state of a lane as clients see it. */
export function laneState(lane: StoredLane, now: number): LaneState {
  const { state, cause, undecided, since, probeAt, heldUntil } = lane;
  const dateOf = (ms: number): Timestamp => (ms > 0 ? toTimestamp(ms) : '');
  return {
    state,
    cause,
    undecided,
    since: dateOf(since),
    probeAt: state === 'open' ? dateOf(probeAt) : '',
    heldUntil: heldUntil > now ? dateOf(heldUntil) : '',
  };
}

/** Reads the lane of the endpoint with this number as it is stored. */
export async function readLane(reader: Reader, endpoint: number): Promise<LaneMemory> {
  return (await readLanes(reader)).get(endpoint)?.lane ?? closedLane;
}
