import type { Clock } from '../base/clock.ts';
import { randomUnit } from '../base/ids.ts';
import { fromTimestamp } from '../base/timestamp.ts';
import { isTest } from '../events/event.ts';
import type { Batch, PendingDelivery } from '../deliveries/deliveries.ts';
import { afterAttempt, type Disposition, standardSchedule, stateIfNotSent } from '../deliveries/delivery.ts';
import type { LaneChange } from '../deliveries/lane.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { AttemptResult } from '../sending/attempt-result.ts';
import type { InstanceLanes } from './lanes.ts';
import type { Settlement } from './settle.ts';
import type { DeliverySlot } from './slots.ts';

/** A claimed delivery, or the deliveries of a batch, until its settlement is committed. */
export interface Claim {
  /** That of the delivery; that of the attempt where it is a batch. */
  readonly id: string;
  readonly lanes: InstanceLanes;
  readonly endpoint: Endpoint;
  /** One, or those of the batch. */
  pendings: readonly PendingDelivery[];
  /** The batch in which they are sent, once it is stored. */
  batch?: Batch;
  /** Its slot; a test has none. */
  readonly slot?: DeliverySlot;
  /** Set for a test, whose caller awaits the result. This process settles it even if another node owns the instance. */
  readonly test?: PromiseWithResolvers<AttemptResult>;
  /** Set when the instance is handed over to another node during the attempt; see `prepareHandOver`. */
  postponedUntil?: number;
  /** The effect of the result on the endpoint, if the attempt has ended. */
  laneChange?: LaneChange | 'blocked' | undefined;
  /** Set when it is settled without an attempt. */
  disposition?: Exclude<Disposition, 'send'>;
}

/** Returns the new states of the deliveries of a claim after a result, with the conditions under which this process may write them. */
export function toSettlements(claim: Claim, result: AttemptResult, clock: Clock): readonly Settlement[] {
  const { pendings, endpoint, test, postponedUntil, disposition, batch } = claim;
  // The same for all: they are sent again together.
  const [now, random] = [clock.now(), randomUnit()];
  return pendings.map(({ key, state, kind, record, created, isReplay }, at) => {
    const isOrdered = endpoint.order === 'record';
    const isFenced = test === undefined;
    // What was requested again, or of records that existed before, says nothing about how fast changes are delivered.
    const isCounted = isFenced && !isTest(kind) && kind !== 'backfill' && !isReplay;
    const committedAt = isCounted ? fromTimestamp(created) : undefined;
    const common = { key, record, isOrdered, due: state.due, postponedUntil, isFenced, committedAt, batch };
    if (disposition !== undefined)
      return { ...common, after: stateIfNotSent(state, disposition, now), result: undefined };
    // A test is never retried, not even one of an earlier process.
    const schedule = isTest(kind) ? [] : (endpoint.schedule ?? standardSchedule);
    const after = afterAttempt(state, result, { now, schedule, random });
    return { ...common, after, result: at === 0 ? result : withoutResponse(result) };
  });
}

/** The response to a batch is stored once, with its first delivery. */
function withoutResponse(result: AttemptResult): AttemptResult {
  return { ...result, responseHeaders: '{}', responseBody: new Uint8Array() };
}
