import type { AttemptResult } from './attempt-result.ts';
import type { PendingDelivery } from './deliveries.ts';
import type { Endpoint } from './endpoint.ts';
import type { InstanceLanes } from './instance-lanes.ts';

/** A delivery that was claimed, until its settlement is committed. */
export interface Flight {
  readonly lanes: InstanceLanes;
  readonly endpoint: Endpoint;
  readonly pending: PendingDelivery;
  /** Of a test: somebody waits for what comes of it. It is theirs to settle, whoever owns the instance. */
  readonly test?: PromiseWithResolvers<AttemptResult>;
  /** Set when the instance is given to another node while this is on its way; see prepare-hand-over.ts. */
  putOffUntil?: number;
}
