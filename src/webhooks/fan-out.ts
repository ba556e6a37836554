import type { Event } from '../events/event.ts';
import { fromTimestamp } from '../base/timestamp.ts';
import type { Transaction } from '../storage/database.ts';
import { newDelivery } from './delivery.ts';
import { deliveryId, insertDelivery } from './deliveries.ts';
import type { EndpointStore } from './endpoint-store.ts';
import { wants } from './endpoint.ts';

/** As the event log's listener: one delivery for each endpoint that wants the event, in the transaction of the record. */
export async function fanOut(tx: Transaction, event: Event, endpoints: EndpointStore): Promise<void> {
  for (const endpoint of await endpoints.all(tx)) {
    if (!wants(endpoint, event)) continue;
    const state = newDelivery(fromTimestamp(event.created), event.body.length);
    const id = deliveryId(event.id, endpoint.id);
    await insertDelivery(
      tx,
      { id, event: event.position, endpoint: endpoint.id, created: event.created },
      state,
    );
  }
}
