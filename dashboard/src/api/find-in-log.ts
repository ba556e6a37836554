import { queryOptions } from '@tanstack/react-query';
import { call, Failure } from './client.ts';

/** An event or a delivery that has an id. */
export interface LogEntry {
  readonly kind: 'Event' | 'Delivery';
  readonly id: string;
  readonly label: string;
}

/** Ids of events have 20 characters, those of deliveries the id of an endpoint behind them. */
const idForm = /^[0-9a-z]{20}(?:-[0-9a-z]+)?$/;

/** Finds what has this id in the log: an event, or a delivery with its event. Nothing for an id that is not there. */
export function logEntryQuery(id: string) {
  return queryOptions({
    queryKey: ['log-entry', id],
    queryFn: async ({ signal }): Promise<readonly LogEntry[]> => {
      const [eventId = ''] = id.split('-');
      try {
        const path = { id: eventId };
        const event = await call('GET /api/webhooks/events/{id}', { path, signal });
        const name = `${event.kind} ${event.collection} ${event.record}`.trim();
        const delivery = event.deliveries.find((one) => one.id === id);
        return [
          ...(delivery === undefined
            ? []
            : [{ kind: 'Delivery', id, label: `Delivery of ${name}` } as const]),
          { kind: 'Event', id: eventId, label: name },
        ];
      } catch (error) {
        if (error instanceof Failure && error.status === 404) return [];
        throw error;
      }
    },
    enabled: idForm.test(id),
  });
}
