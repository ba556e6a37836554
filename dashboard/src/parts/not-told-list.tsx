import type { Event, Surroundings } from '../api/events.ts';
import { notTold } from './delivery-words.ts';
import { plural } from './time.tsx';

interface NotToldListProps {
  readonly event: Event;
  /** The id of its collection. */
  readonly collection: string;
  readonly surroundings: Surroundings;
}

/** Which endpoints were not told of an event, and why: the answer to a webhook that was never sent. */
export function NotToldList({ event, collection, surroundings }: NotToldListProps) {
  const others = notTold(event, collection, surroundings.endpoints.values());
  if (others.length === 0)
    return event.deliveries.length > 0 ? null : (
      <p className="not-told">There is no endpoint. Make one, and replay what it has missed.</p>
    );
  return (
    <details className="not-told" open={event.deliveries.length === 0}>
      <summary>Not sent to {plural(others.length, 'endpoint')}</summary>
      <ul>
        {others.map(({ endpoint, reason }) => (
          <li key={endpoint.id}>
            <span className="mono">{endpoint.url}</span> {reason}.
          </li>
        ))}
      </ul>
    </details>
  );
}
