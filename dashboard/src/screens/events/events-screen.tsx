import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import ArrowUp from 'lucide-react/icons/arrow-up';
import History from 'lucide-react/icons/history';
import SearchX from 'lucide-react/icons/search-x';
import { useMemo } from 'react';
import { apiUrl } from '../../api/client.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { type Delivery, type Event, eventsQuery, useSurroundings } from '../../api/events.ts';
import { isBoundToEndpoints, mayChangeWebhooks } from '../../api/session.ts';
import { Bar } from '../../parts/bar.tsx';
import { Button } from '../../parts/button.tsx';
import { DataTable } from '../../parts/data-table/data-table.tsx';
import { pagesOf } from '../../parts/data-table/pages-of.ts';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { DeliveryBadge } from '../../parts/delivery-badge.tsx';
import { type DeliveryTone, kindNames } from '../../parts/delivery-words.ts';
import { Empty, LinkButton } from '../../parts/empty.tsx';
import { EventPlot } from '../../parts/plot-webhooks.tsx';
import { RecordLink } from '../../parts/record-link.tsx';
import { Resend } from '../../parts/resend.tsx';
import { timeColumn } from '../../parts/data-table/time-column.tsx';
import { plural } from '../../parts/time.tsx';
import { decodeEventSearch, type EventSearch, toSelection } from '../../parts/event-search.ts';
import { LogFilters } from '../../parts/log-filters.tsx';
import { useNewEvents } from './new-events.ts';

const route = getRouteApi('/shell/events');

/** The log: everything that has happened to records, and who was told of it. */
export function EventsScreen() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const queries = useQueryClient();
  // Once for each address: `24h` moves on with the next look, not while one reads.
  const selection = useMemo(() => toSelection(search), [search]);
  const list = useInfiniteQuery(eventsQuery(selection));
  const rows = useMemo(() => list.data?.pages.flatMap(({ items }) => items), [list.data]);
  const fresh = useNewEvents(selection, new Set(rows?.map(({ id }) => id)));
  const { sort: _sort, ...filters } = search;
  const filterBy = (next: EventSearch): void =>
    void navigate({ search: decodeEventSearch({ ...next }), replace: true });
  const showNew = async (): Promise<void> => {
    fresh.forget();
    await queries.resetQueries({ queryKey: ['events', 'list'] });
  };
  return (
    <>
      <Bar title="Events" />
      <div className="events">
        {fresh.count > 0 && (
          <button type="button" className="new-rows" onClick={() => void showNew()}>
            <ArrowUp size={13} aria-hidden />
            {fresh.count} new
          </button>
        )}
        <DataTable
          name="events"
          label="Events"
          countOf={(count) => plural(count, 'event')}
          columns={columns}
          rows={rows}
          {...pagesOf(list)}
          sort={selection.sort}
          onSort={(sort) => filterBy({ ...filters, ...(sort === 'created' && { sort }) })}
          filters={<LogFilters label="Filter events" search={search} onChange={filterBy} />}
          plot={isBoundToEndpoints() ? undefined : <EventPlot caption="Events, last 24 hours" />}
          empty={<NoEvents isFiltered={Object.keys(filters).length > 0} onClear={() => filterBy({})} />}
          scope={JSON.stringify(selection)}
          {...(mayChangeWebhooks() && {
            renderBulk: (chosen: readonly Event[]) => <SendAgain events={chosen} />,
          })}
        />
      </div>
    </>
  );
}

/** Sends all deliveries of events again. */
function SendAgain({ events }: { readonly events: readonly Event[] }) {
  return (
    <Resend
      deliveries={events.flatMap(({ deliveries }) => deliveries)}
      surroundings={useSurroundings()}
      label="Send again …"
    />
  );
}

const columns: readonly DataColumn<Event>[] = [
  { id: 'kind', label: 'Type', size: 110, cell: ({ kind }) => kindNames[kind] },
  {
    id: 'record',
    label: 'Record',
    size: 280,
    kind: 'main',
    cell: ({ id, kind, collection, record, created }) => (
      <>
        <Link className="table-link" to="/events/$id" params={{ id }}>
          {collection === '' ? (
            <span className="soft">{kind === 'ping' ? 'test of an endpoint' : record}</span>
          ) : (
            collection
          )}
          <span className="unseen"> event of {created}</span>
        </Link>
        {collection !== '' && (
          <RecordLink collection={collection} record={record} className="event-record-link">
            {' '}
            <span className="faint">/</span> <span className="mono">{record}</span>
          </RecordLink>
        )}
      </>
    ),
  },
  {
    id: 'changed',
    label: 'Changed fields',
    size: 150,
    cell: ({ changed }) => <span className="soft">{changed.join(', ')}</span>,
  },
  {
    id: 'deliveries',
    label: 'Deliveries',
    size: 250,
    cell: ({ deliveries }) =>
      deliveries.length === 0 ? (
        <span className="faint">no endpoint</span>
      ) : (
        <span className="event-told">
          <Told deliveries={deliveries} />
        </span>
      ),
  },
  { ...timeColumn, label: 'Created' },
];

function NoEvents({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }) {
  const collection = useLoadedCollections()?.find(({ system, type }) => !system && type === 'base');
  if (isFiltered)
    return (
      <Empty icon={SearchX} title="No results" actions={<Button onClick={onClear}>Clear the filters</Button>}>
        Events are kept for 30 days by default. Imports create none.
      </Empty>
    );
  return (
    <Empty
      icon={History}
      title="No events yet"
      actions={
        collection !== undefined && (
          <LinkButton
            tone="primary"
            link={{
              to: '/c/$collection',
              params: { collection: collection.name },
              search: { record: 'new' },
            }}
          >
            New record in {collection.name}
          </LinkButton>
        )
      }
      code={`curl "${apiUrl}/api/webhooks/events?sort=-created" \\\n  -H "Authorization: $TOKEN"`}
    >
      Creating, updating or deleting a record is an event. Events appear here with their deliveries.
    </Empty>
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
