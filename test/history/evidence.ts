import type { Engine } from '../../src/storage/database.ts';
import type { StoredEvent } from './chains.ts';
import type { CollectionName } from './collections.ts';
import type { History, Values } from './exchange.ts';

export interface Told {
  readonly id: string;
  /** The endpoint's id. */
  readonly endpoint: string;
  /** Position of the event. */
  readonly event: number;
  readonly status: string;
}

export interface ToldEndpoint {
  readonly id: string;
  readonly wants: (event: StoredEvent) => boolean;
}

export interface Receipt {
  readonly delivery: string;
  readonly eventId: string;
  readonly sequence: number;
}

/** All that is known when everybody is quiet. */
export interface Evidence {
  readonly engine: Engine;
  readonly history: History;
  /** In the order of their positions. */
  readonly events: readonly StoredEvent[];
  readonly deliveries: readonly Told[];
  readonly endpoints: readonly ToldEndpoint[];
  readonly receipts: readonly Receipt[];
  readonly records: ReadonlyMap<CollectionName, readonly Values[]>;
  /** What nodes logged as warnings and errors. */
  readonly log: readonly string[];
}

export type Report = (text: string) => void;
