import type { Batch, PendingDelivery } from '../deliveries/deliveries.ts';
import type { Disposition } from '../deliveries/delivery.ts';
import type { LaneChange } from '../deliveries/lane.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { AttemptResult } from '../sending/attempt-result.ts';
import type { InstanceLanes } from './lanes.ts';
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
