import type { AttemptResult } from './sending/attempt-result.ts';
import type { PendingDelivery } from './deliveries.ts';
import type { Endpoint } from './endpoints/endpoint.ts';
import type { InstanceLanes } from './instance-lanes.ts';

/** A claimed delivery, until its settlement is committed. */
export interface Flight {
  readonly lanes: InstanceLanes;
  readonly endpoint: Endpoint;
  readonly pending: PendingDelivery;
  /** Set for a test, whose caller waits for the result. This process settles it even if another node owns the instance. */
  readonly test?: PromiseWithResolvers<AttemptResult>;
  /** Set when the instance is handed over to another node during the attempt; see prepare-hand-over.ts. */
  putOffUntil?: number;
}
