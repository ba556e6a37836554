import { Link } from '@tanstack/react-router';
import type { Delivery, Event } from '../../api/events.ts';
import { DeliveryBadge } from '../../parts/delivery-badge.tsx';
import { type DeliveryTone, kindNames } from '../../parts/delivery-words.ts';
import { RecordLink } from '../../parts/record-link.tsx';
import { Time } from '../../parts/time.tsx';

/** An event in one line: when, what, of which record, and how its deliveries stand. All of it leads to the event. */
export function EventRow({ event }: { readonly event: Event }) {
  const { id, kind, collection, record, created, deliveries } = event;
  return (
    <li className="event-row">
      <span className="event-time">
        <Time value={created} />
      </span>
      <Link className="event-link" to="/events/$id" params={{ id }}>
        {kindNames[kind]}
        <span className="unseen"> event of {created}</span>
      </Link>
      <span className="event-record cut">
        {collection === '' ? (
          <span className="soft">{kind === 'ping' ? 'test of an endpoint' : record}</span>
        ) : (
          <RecordLink collection={collection} record={record} className="event-record-link">
            {collection} <span className="faint">/</span> <span className="mono">{record}</span>
          </RecordLink>
        )}
      </span>
      <span className="event-told">
        {deliveries.length === 0 ? (
          <span className="faint">nobody told</span>
        ) : (
          <Told deliveries={deliveries} />
        )}
      </span>
    </li>
  );
}

interface Standing {
  readonly tone: DeliveryTone;
  readonly name: string;
}

const standings: Readonly<Record<Delivery['status'], Standing>> = {
  exhausted: { tone: 'failed', name: 'gave up' },
  expired: { tone: 'failed', name: 'expired' },
  pending: { tone: 'waiting', name: 'waiting' },
  cancelled: { tone: 'waiting', name: 'cancelled' },
  delivered: { tone: 'ok', name: 'delivered' },
};
const retrying: Standing = { tone: 'retrying', name: 'retrying' };

/** How many deliveries stand how, the worst first. */
function Told({ deliveries }: { readonly deliveries: readonly Delivery[] }) {
  const groups = Map.groupBy(deliveries, ({ status, attempts }) =>
    status === 'pending' && attempts.length > 0 ? retrying : standings[status],
  );
  return [retrying, ...Object.values(standings)].map((standing) => {
    const count = groups.get(standing)?.length ?? 0;
    return (
      count > 0 && (
        <DeliveryBadge key={standing.name} tone={standing.tone} text={`${count} ${standing.name}`} />
      )
    );
  });
}
