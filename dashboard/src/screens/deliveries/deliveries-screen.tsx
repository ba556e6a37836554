import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import SearchX from 'lucide-react/icons/search-x';
import Send from 'lucide-react/icons/send';
import { useMemo } from 'react';
import { apiUrl } from '../../api/client.ts';
import { attemptDigest, deliveriesQuery, type DeliverySelection } from '../../api/deliveries.ts';
import { type Delivery, type Surroundings, useSurroundings } from '../../api/events.ts';
import { isBoundToEndpoints } from '../../api/session.ts';
import { Bar } from '../../parts/bar.tsx';
import { Button } from '../../parts/button.tsx';
import { DeliveryBadge } from '../../parts/delivery-badge.tsx';
import { eventTitle, explainDelivery } from '../../parts/delivery-words.ts';
import { Empty } from '../../parts/empty.tsx';
import { endpointLabel } from '../../parts/endpoint-words.ts';
import { MoreRows } from '../../parts/more-rows.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { Time } from '../../parts/time.tsx';
import { DeliveryFilters } from './delivery-filters.tsx';
import { type DeliveriesSearch, spanHours } from './delivery-search.ts';

const route = getRouteApi('/shell/deliveries');

/** Events on their way to endpoints, and how each stands. */
export function DeliveriesScreen() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  // Once for each address: `24h` moves on with the next look, not while one reads.
  const selection = useMemo(() => toSelection(search), [search]);
  const list = useInfiniteQuery(deliveriesQuery(selection));
  const surroundings = useSurroundings();
  const rows = list.data?.pages.flatMap(({ items }) => items) ?? [];
  const filterBy = (next: DeliveriesSearch): void => void navigate({ search: next, replace: true });
  return (
    <>
      <Bar title="Deliveries" />
      <div className="events">
        <DeliveryFilters search={search} surroundings={surroundings} onChange={filterBy} />
        {list.isError && (
          <div className="empty">
            <FailureNotice error={list.error} onRetry={() => void list.refetch()} />
          </div>
        )}
        {list.isPending && <PlaceholderDeliveries />}
        {list.isSuccess && rows.length === 0 && (
          <NoDeliveries isFiltered={Object.keys(search).length > 0} onClear={() => filterBy({})} />
        )}
        {rows.length > 0 && (
          <div className="events-scroll" tabIndex={-1}>
            <ul className="event-list" aria-label="Deliveries">
              {rows.map((delivery) => (
                <DeliveryLine key={delivery.id} delivery={delivery} surroundings={surroundings} />
              ))}
            </ul>
            <MoreRows
              label="Show earlier deliveries"
              isShown={list.hasNextPage}
              isBusy={list.isFetchingNextPage}
              onMore={() => void list.fetchNextPage()}
            />
          </div>
        )}
      </div>
    </>
  );
}

const hourMs = 3_600_000;

function toSelection(search: DeliveriesSearch): DeliverySelection {
  const { from } = search;
  const status: string = search.status ?? '';
  const endpoint = search.endpoint ?? '';
  if (from === undefined) return { status, endpoint, from: '' };
  const begin = new Date(Date.now() - spanHours[from] * hourMs);
  return { status, endpoint, from: begin.toISOString().replace('T', ' ') };
}

interface DeliveryLineProps {
  readonly delivery: Delivery;
  readonly surroundings: Surroundings | undefined;
}

/** A delivery in one line, which leads to it: when, how it stands, of what, where to, and what its attempts came to. */
function DeliveryLine({ delivery, surroundings }: DeliveryLineProps) {
  const { id, kind, collection, record, endpoint, created } = delivery;
  const { tone, title } = explainDelivery(delivery, surroundings);
  return (
    <li className="event-row delivery-entry">
      <span className="event-time">
        <Time value={created} />
      </span>
      <DeliveryBadge tone={tone} text={title} />
      <Link className="event-link cut" to="/deliveries/$id" params={{ id }}>
        {eventTitle({ kind, collection })}
        {collection !== '' && <span className="mono soft"> {record}</span>}
      </Link>
      <span className="delivery-entry-endpoint soft cut">{endpointLabel(endpoint, surroundings)}</span>
      <span className="delivery-entry-attempts mono cut">{attemptDigest(delivery)}</span>
    </li>
  );
}

const placeholderWidths = [180, 220, 200, 240, 190];

function PlaceholderDeliveries() {
  return (
    <ul className="event-list" aria-busy aria-label="Deliveries">
      {placeholderWidths.map((inlineSize) => (
        <li key={inlineSize} className="event-row delivery-entry">
          <span className="placeholder" style={{ inlineSize: 120 }} />
          <span className="placeholder" style={{ inlineSize: 70 }} />
          <span className="placeholder" style={{ inlineSize }} />
          <span className="placeholder" style={{ inlineSize: 140 }} />
          <span className="placeholder" style={{ inlineSize: 60 }} />
        </li>
      ))}
    </ul>
  );
}

interface NoDeliveriesProps {
  readonly isFiltered: boolean;
  readonly onClear: () => void;
}

function NoDeliveries({ isFiltered, onClear }: NoDeliveriesProps) {
  if (isFiltered)
    return (
      <Empty
        icon={<SearchX size={24} strokeWidth={1.5} aria-hidden />}
        title="No delivery matches"
        actions={<Button onClick={onClear}>Clear the filters</Button>}
      >
        Deliveries are kept for 30 days, unless the operator has set another time.
      </Empty>
    );
  return (
    <Empty
      icon={<Send size={24} strokeWidth={1.5} aria-hidden />}
      title="Nothing was sent yet"
      actions={
        <Link to="/events" className="button">
          To the log of events
        </Link>
      }
      code={
        isBoundToEndpoints()
          ? `curl ${apiUrl}/api/webhooks/deliveries \\\n  -H "Authorization: Bearer $KEY"`
          : `curl ${apiUrl}/api/webhooks/endpoints \\\n  -H "Authorization: $TOKEN" -H "Content-Type: application/json" \\\n  -d '{"url": "https://shop.example.com/hook"}'`
      }
    >
      A delivery is an event on its way to an endpoint. Once there is an endpoint, each event that it wants is
      sent to it.
    </Empty>
  );
}
