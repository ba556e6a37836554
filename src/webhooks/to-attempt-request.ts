import type { AttemptRequest } from './sending/attempt-result.ts';
import type { PendingDelivery } from './deliveries.ts';
import type { Endpoint } from './endpoints/endpoint.ts';

/** Returns the request of a delivery's next attempt, as the sender takes it. */
export function toAttemptRequest(
  endpoint: Endpoint,
  pending: PendingDelivery,
  version: string,
): AttemptRequest {
  return {
    deliveryId: pending.id,
    endpointId: endpoint.id,
    url: endpoint.url,
    body: pending.body,
    eventId: pending.eventId,
    event: pending.kind,
    collection: pending.collectionName,
    attempt: pending.state.attempts + 1,
    sequence: pending.revision,
    customHeaders: endpoint.headers,
    secrets: [endpoint.secret],
    timeoutMs: endpoint.timeoutMs,
    version,
  };
}
