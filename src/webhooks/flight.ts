import type { Instance } from '../instances/instance.ts';
import type { PendingDelivery } from './deliveries.ts';
import type { Endpoint } from './endpoint.ts';

/** A delivery that was claimed, until its settlement is committed. */
export interface Flight {
  readonly instance: Instance;
  readonly endpoint: Endpoint;
  readonly pending: PendingDelivery;
  /** Asked for by somebody who waits for it: it is theirs to settle, whoever owns the instance. */
  readonly isTest: boolean;
  /** Set when the instance is given to another node while this is on its way; see prepare-hand-over.ts. */
  putOffUntil?: number;
}
