import type { Clock } from '../base/clock.ts';
import type { EventRows } from '../events/event-log.ts';
import type { Event } from '../events/event.ts';
import type { Sql } from '../sql/sql.ts';
import type { Names, Transaction } from '../storage/database.ts';
import { newDelivery, type DeliveryState } from './delivery.ts';
import { deliveryId, deliveryRow, deliveryRows } from './deliveries.ts';
import type { EndpointStore } from './endpoint-store.ts';
import { wants, type Endpoint } from './endpoint.ts';

export interface FanOutParts {
  readonly endpoints: EndpointStore;
  readonly clock: Clock;
}

/** As the event log's listener: one delivery for each endpoint that wants an event, in the transaction of the record. */
export async function fanOut(
  tx: Transaction,
  events: readonly Event[],
  parts: FanOutParts,
): Promise<EventRows> {
  const endpoints = await parts.endpoints.all(tx);
  // Due by the clock: after it was set back, the event's own time, which never goes back, may be hours ahead.
  const now = parts.clock.now();
  return (positionOf) =>
    endpoints.flatMap((endpoint) =>
      runsOf(endpoint, events, now).map((run) => rowsOf(run, endpoint, { names: tx.names, positionOf })),
    );
}

/** Neighbours of which an endpoint is told alike. */
interface Run {
  readonly events: readonly Event[];
  /** Of the first, among those that were asked about. */
  readonly place: number;
  readonly state: DeliveryState;
}

function runsOf(endpoint: Endpoint, events: readonly Event[], now: number): readonly Run[] {
  const runs: { readonly events: Event[]; readonly place: number; readonly state: DeliveryState }[] = [];
  for (const [place, event] of events.entries()) {
    if (!wants(endpoint, event)) continue;
    const state = newDelivery(now, event.bodyBytes);
    const last = runs.at(-1);
    const isNext = last !== undefined && last.place + last.events.length === place;
    if (isNext && last.state.cause === state.cause) last.events.push(event);
    else runs.push({ events: [event], place, state });
  }
  return runs;
}

function rowsOf(
  { events, place, state }: Run,
  endpoint: Endpoint,
  { names, positionOf }: { readonly names: Names; readonly positionOf: (place: number) => Sql },
): Sql {
  const [first] = events;
  if (first === undefined || events.length > 1) {
    const range = { names, from: positionOf(place), to: positionOf(place + events.length - 1) };
    return deliveryRows(range, endpoint.id, state);
  }
  const identity = { id: deliveryId(first.id, endpoint.id), endpoint: endpoint.id, created: first.created };
  return deliveryRow({ names, position: positionOf(place) }, identity, state);
}
