import type { Timestamp } from '../../base/timestamp.ts';
import type { Event, RecordEventKind } from '../../events/event.ts';
import { isSecretHeader, maskedValue } from './endpoint-headers.ts';

/** Where to tell what happened: a URL, the events that it is told of, and how requests are sent to it. */
export interface Endpoint {
  readonly id: string;
  readonly url: string;
  readonly description: string;
  readonly events: readonly RecordEventKind[];
  /** Ids of collections, so that renames follow; empty means all of them. */
  readonly collections: readonly string[];
  /** Extra headers sent with every request; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Requests that may be open at once. */
  readonly maxInFlight: number;
  /** Time for one attempt, from the first DNS packet to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Seconds between attempts, or null for the standard schedule. */
  readonly schedule: readonly number[] | null;
  /** A paused endpoint still collects its deliveries. */
  readonly status: 'active' | 'paused';
  /** Why the service paused it, in words; empty when its owner did. */
  readonly statusReason: string;
  readonly secret: string;
  readonly created: Timestamp;
  readonly updated: Timestamp;
}

/** Whether the endpoint is to be told of the event. The test event is never fanned out. */
export function wants(endpoint: Endpoint, event: Pick<Event, 'kind' | 'collection'>): boolean {
  if (event.kind === 'ping' || !endpoint.events.includes(event.kind)) return false;
  return endpoint.collections.length === 0 || endpoint.collections.includes(event.collection);
}

/** What the API shows of an endpoint. The secret has its own route; values of secret-looking headers are never shown again. */
export function endpointView(endpoint: Endpoint): Readonly<Record<string, unknown>> {
  const { id, secret: _, headers, ...shown } = endpoint;
  const masked = Object.entries(headers).map(([name, value]) => [
    name,
    isSecretHeader(name) ? maskedValue : value,
  ]);
  return { id, ...shown, headers: Object.fromEntries(masked) };
}
