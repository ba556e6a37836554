import type { Clock } from '../base/clock.ts';
import type { Event } from '../events/event.ts';
import type { FollowingRows, Transaction } from '../storage/database.ts';
import { newDelivery } from './delivery.ts';
import { deliveryRows, type ToldEndpoint } from './deliveries.ts';
import { warnOfEndpoint, type WarningSource } from './endpoint-warnings.ts';
import type { EndpointStore } from './endpoints/endpoint-store.ts';
import { wants, type Endpoint } from './endpoints/endpoint.ts';

export interface FanOutParts {
  readonly endpoints: EndpointStore;
  readonly clock: Clock;
  /** The instance, when the operator is warned of an event that is not sent. */
  readonly instance: WarningSource;
}

/** The event log's listener: makes one delivery for each endpoint that wants an event, in the transaction of the record. */
export async function fanOut(
  tx: Transaction,
  events: readonly Event[],
  parts: FanOutParts,
): Promise<FollowingRows> {
  const endpoints = await parts.endpoints.all(tx);
  // Not the event's own time: that never goes back, so after the clock was set back it may be hours ahead.
  const now = parts.clock.now();
  const told = endpoints.flatMap((endpoint) => {
    const runs = runsOf(endpoint, events, now);
    const exhausted = runs.filter(({ state }) => state.status === 'exhausted');
    if (exhausted.length > 0)
      tx.afterCommit(() => warnOfExhausted(endpoint, exhausted, { events, instance: parts.instance }));
    return runs;
  });
  return deliveryRows(tx.names, told);
}

function warnOfExhausted(
  endpoint: Endpoint,
  runs: readonly ToldEndpoint[],
  { events, instance }: { readonly events: readonly Event[]; readonly instance: WarningSource },
): void {
  for (const { first, last, state } of runs)
    for (const { id } of events.slice(first, last + 1))
      warnOfEndpoint(instance, endpoint, { kind: 'exhausted', event: id, cause: state.cause });
}

/** Returns runs of neighbouring events that the endpoint is told of with the same state. */
function runsOf(endpoint: Endpoint, events: readonly Event[], now: number): readonly ToldEndpoint[] {
  const runs: (ToldEndpoint & { last: number })[] = [];
  for (const [place, event] of events.entries()) {
    if (!wants(endpoint, event)) continue;
    const state = newDelivery(now, event.bodyBytes);
    const before = runs.at(-1);
    const isNext = before?.last === place - 1 && before.state.cause === state.cause;
    if (isNext) before.last = place;
    else runs.push({ endpoint: endpoint.id, first: place, last: place, state });
  }
  return runs;
}
