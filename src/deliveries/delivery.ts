import { sql, type Sql } from '../sql/sql.ts';
import type { AttemptResult } from '../sending/attempt-result.ts';

/**
 * The map of `sending/`, `endpoints/`, this room and `dispatch/`, each of which knows those before it. Five
 * nouns: a *delivery* is one event for one endpoint; a *claim* is a delivery that this process is about to send, or is sending; a *lane*
 * is the queue of one endpoint, with its pace; an *attempt* is one request of a delivery; a *result* is how an attempt ended.
 *
 *  sending/          another thread, and the sender as its handle here: signs, posts through the guarded agent; every failure is a
 *                    value. It knows requests and their results, not deliveries
 *  endpoints/        what owners define, and its checks (endpoint-warnings: what the operator reads of them). It knows no deliveries
 *  deliveries/
 *   fan-out          inserts deliveries in the record's transaction: one for each endpoint that subscribes to the event
 *   deliveries       reads those whose turn it is, and builds their requests; delivery-outcomes: their states; skip-waiting: ends any number of them by one row
 *   lane             how much an endpoint takes at once, and when it is left alone; lane-store: what is stored of it
 *   record-order     what waits for earlier events of its record, or is superseded by later ones
 *   log/             what owners see of deliveries (delivery-log) and of events (list-events), the feed, and what is trimmed
 *   accounts/        matches events to the endpoints of accounts; why/: explains why an endpoint was not sent an event
 *   replays/         past deliveries that are sent again; backfills: existing records; replay-runner: the running ones
 *   endpoints/       changes of endpoints, which end, move or replay their backlog
 *  dispatch/
 *   scheduler        which instances have something due, and when; slots: how many attempts may be open, and who gets the next one
 *   lanes            an instance's lanes, and what of it is claimed; lane-source: where the deliveries of one come from (log-cursor, due-queue)
 *   dispatcher       finds work by these, claims what is due and gives it to the sender, or to catcher-attempts
 *   claims           open claims: settles the results, one group of each instance at a time (settle); loans: instances on loan, with their lanes
 *   janitor          trims the log, and moves cursors on that nothing else moves
 *   nodes/           several processes on one PostgreSQL: who delivers for which instance, and how they notify each other
 *
 *   A delivery is two numbers, the event's position and the endpoint's, and never changes. Its state is an outcome; without one it
 *   waits, or has the status of the gap that it lies in.
 *
 *   pending ──attempt succeeded──► delivered
 *      │  ▲──attempt failed, the schedule goes on (due moves), or a manual retry was requested meanwhile
 *      ├──attempt failed, the schedule is over──► exhausted ──retry by hand──► pending
 *      ├──cancelled by hand, skipped, superseded, or with the endpoint──► cancelled ──retry by hand, replay──► pending
 *      └──older than the maximum age of its endpoint──► expired
 *
 * Only the rows are the truth. Claims are in memory; when the process dies, everything it had claimed is still pending and due.
 */
export const deliveryStatuses = ['pending', 'delivered', 'exhausted', 'expired', 'cancelled'] as const;

export type DeliveryStatus = (typeof deliveryStatuses)[number];

export interface DeliveryState {
  readonly status: DeliveryStatus;
  /** How many attempts were made. */
  readonly attempts: number;
  /**
   * When the next attempt is due, in milliseconds since 1970; meaningless when the delivery is over. Undefined for one that was never
   * attempted and waits in the log: it is due from the start.
   */
  readonly due: number | undefined;
  /** Why it is not delivered, in words; empty when there is nothing to explain. */
  readonly cause: string;
}

/** Seconds from a failed attempt to the next: 5 s, 30 s, 2 m, 10 m, 30 m, 1 h, 2 h, 4 h, 8 h, then 12 h each; about 76 h in all. */
export const standardSchedule: readonly number[] = [
  5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 43_200, 43_200, 43_200, 43_200,
];

const jitterMin = 0.75;
const jitterSpan = 0.5;

/** Multiplies a delay by a factor from 0.75 to 1.25, so that what failed together spreads out. `random` is in [0, 1). */
export function jittered(delayMs: number, random: number): number {
  return delayMs * (jitterMin + random * jitterSpan);
}

/** What happens to a delivery whose turn it is. */
export type Disposition =
  /** It is sent. */
  | 'send'
  /** It waits until the events of its record before it are over. */
  | 'held'
  /** A later event of its record is sent instead. */
  | 'superseded'
  /** It exceeds the maximum age of its endpoint. */
  | 'expired'
  /** The body of its event was removed. */
  | 'expunged'
  /** Its endpoint is that of an account, which may not view the record any more. */
  | 'withheld'
  /** Whether that account may still view the record could not be determined: it is checked again later. */
  | 'postponed';

export const expungedCause = 'The body was expunged.';

/** How long a delivery waits when the access of its endpoint's owner could not be determined. */
const postponedMs = 60_000;

const endedCauses = {
  expired: 'It exceeded the maximum age of its endpoint.',
  expunged: expungedCause,
  superseded: 'A later change was sent instead.',
  withheld: 'The owner of the endpoint may not view the record any more.',
} as const;

/** Returns the state of a delivery that is not sent. A held one has no due time: the settlement of another delivery releases it. */
export function stateIfNotSent(
  state: DeliveryState,
  disposition: Exclude<Disposition, 'send'>,
  now: number,
): DeliveryState {
  if (disposition === 'held') return { ...state, due: undefined };
  if (disposition === 'postponed')
    return {
      ...state,
      due: now + postponedMs,
      cause: 'Checking whether its owner may view the record took too long.',
    };
  return {
    ...state,
    status: disposition === 'expired' ? 'expired' : 'cancelled',
    cause: endedCauses[disposition],
  };
}

export interface AttemptContext {
  readonly now: number;
  readonly schedule: readonly number[];
  /** In [0, 1). */
  readonly random: number;
}

/** Returns the state after an attempt. An aborted one does not count: the delivery is due again at once. */
export function afterAttempt(
  state: DeliveryState,
  result: AttemptResult,
  context: AttemptContext,
): DeliveryState {
  if (result.kind === 'aborted') return { ...state, due: context.now };
  const attempts = state.attempts + 1;
  if (result.isSuccess) return { status: 'delivered', attempts, due: context.now, cause: '' };
  const delaySeconds = context.schedule[attempts - 1];
  if (delaySeconds === undefined)
    return { status: 'exhausted', attempts, due: context.now, cause: result.cause };
  const delayMs = jittered(delaySeconds * 1_000, context.random);
  const requestedMs = (result.retryAfterSeconds ?? 0) * 1_000;
  return {
    status: 'pending',
    attempts,
    due: Math.ceil(context.now + Math.max(delayMs, requestedMs)),
    cause: result.cause,
  };
}

/**
 * Which instances this process delivers for. An instance's deliveries have one owner at a time, so that none is sent twice. On
 * SQLite the owner is the process that holds the data directory; on PostgreSQL the nodes divide the instances among themselves.
 */
export interface Ownership {
  owns(instanceId: string): boolean;
  /** A name of the time for which the instance has been ours: another one, if it was another's in between. */
  epochOf(instanceId: string): string;
  /** A condition in SQL that holds while the instance is ours; every settlement includes it. */
  fence(instanceId: string): Sql;
}

const always = sql`TRUE`;

/** Owns every instance. */
export const soleOwnership: Ownership = { owns: () => true, epochOf: () => '', fence: () => always };

/** Owns no instance: a command sends only tests, which no other process claims. */
export const noOwnership: Ownership = { owns: () => false, epochOf: () => '', fence: () => always };
