import type { Clock } from '../base/clock.ts';
import type { EventRows } from '../events/event-log.ts';
import type { Event } from '../events/event.ts';
import type { Transaction } from '../storage/database.ts';
import { newDelivery } from './delivery.ts';
import { deliveryId, deliveryRow } from './deliveries.ts';
import type { EndpointStore } from './endpoint-store.ts';
import { wants } from './endpoint.ts';

export interface FanOutParts {
  readonly endpoints: EndpointStore;
  readonly clock: Clock;
}

/** As the event log's listener: one delivery for each endpoint that wants the event, in the transaction of the record. */
export async function fanOut(tx: Transaction, event: Event, parts: FanOutParts): Promise<EventRows> {
  const endpoints = (await parts.endpoints.all(tx)).filter((endpoint) => wants(endpoint, event));
  // Due by the clock: after it was set back, the event's own time, which never goes back, may be hours ahead.
  const state = newDelivery(parts.clock.now(), event.body.length);
  return (position) =>
    endpoints.map((endpoint) => {
      const id = deliveryId(event.id, endpoint.id);
      const identity = { id, endpoint: endpoint.id, created: event.created };
      return deliveryRow({ names: tx.names, position }, identity, state);
    });
}
