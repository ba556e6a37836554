import type { Clock } from '../base/clock.ts';
import type { EventRows } from '../events/event-log.ts';
import type { Event } from '../events/event.ts';
import type { Transaction } from '../storage/database.ts';
import { newDelivery, type DeliveryState } from './delivery.ts';
import { deliveryRows } from './deliveries.ts';
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
  const { names } = tx;
  return (inserted) =>
    endpoints.flatMap((endpoint) =>
      runsOf(endpoint, events, now).map(({ first, last, state }) =>
        deliveryRows({ names, events: inserted(first, last) }, endpoint.id, state),
      ),
    );
}

/** Neighbours of which an endpoint is told alike, by the places of the first and the last. */
interface Run {
  readonly first: number;
  last: number;
  readonly state: DeliveryState;
}

function runsOf(endpoint: Endpoint, events: readonly Event[], now: number): readonly Run[] {
  const runs: Run[] = [];
  for (const [place, event] of events.entries()) {
    if (!wants(endpoint, event)) continue;
    const state = newDelivery(now, event.bodyBytes);
    const before = runs.at(-1);
    const isNext = before?.last === place - 1 && before.state.cause === state.cause;
    if (isNext) before.last = place;
    else runs.push({ first: place, last: place, state });
  }
  return runs;
}
