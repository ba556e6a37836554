import type { StoredEvent } from './chains.ts';
import type { Evidence, Report } from './evidence.ts';

/** One delivery for each event and each endpoint that wants it, and each has arrived. */
export function checkDeliveries({ events, deliveries, endpoints, receipts }: Evidence, report: Report): void {
  const arrived = Map.groupBy(receipts, ({ delivery }) => delivery);
  const byPlace = Map.groupBy(deliveries, ({ endpoint, event }) => `${endpoint} ${event}`);
  for (const endpoint of endpoints)
    for (const event of events) {
      const told = byPlace.get(`${endpoint.id} ${event.position}`) ?? [];
      const expected = endpoint.wants(event) ? 1 : 0;
      if (told.length !== expected)
        report(`${told.length} deliveries of event ${event.position}, not ${expected}`);
    }
  const byPosition = new Map(events.map((event) => [event.position, event]));
  for (const { id, status, event: position } of deliveries) {
    if (status !== 'delivered') report(`delivery ${id} is ${status}`);
    const event = byPosition.get(position);
    const receivedTimes = arrived.get(id)?.length ?? 0;
    if (event === undefined) report(`delivery ${id} has no event`);
    else if (receivedTimes === 0) report(`delivery ${id} never arrived`);
    for (const receipt of arrived.get(id) ?? [])
      if (event !== undefined) checkReceipt(event, receipt, report);
  }
  const known = new Set(deliveries.map(({ id }) => id));
  for (const id of arrived.keys()) if (!known.has(id)) report(`${id} arrived, and there is no such delivery`);
}

function checkReceipt(
  event: StoredEvent,
  { eventId, sequence }: Evidence['receipts'][number],
  report: Report,
): void {
  if (eventId !== event.id || sequence !== event.revision)
    report(`event ${event.id} ${event.revision} arrived as ${eventId} ${sequence}`);
}
