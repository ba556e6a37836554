import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import ArrowUp from 'lucide-react/icons/arrow-up';
import History from 'lucide-react/icons/history';
import SearchX from 'lucide-react/icons/search-x';
import { useMemo } from 'react';
import { apiUrl } from '../../api/client.ts';
import { useLoadedCollections } from '../../api/collections.ts';
import { eventsQuery } from '../../api/events.ts';
import { Bar } from '../../parts/bar.tsx';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { MoreRows } from '../../parts/more-rows.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { EventFilters } from './event-filters.tsx';
import { EventRow } from './event-row.tsx';
import { type EventSearch, toSelection } from './event-search.ts';
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
  const rows = useMemo(() => list.data?.pages.flatMap(({ items }) => items) ?? [], [list.data]);
  const fresh = useNewEvents(selection, new Set(rows.map(({ id }) => id)));
  const filterBy = (next: EventSearch): void => void navigate({ search: next, replace: true });
  const showNew = async (): Promise<void> => {
    fresh.forget();
    await queries.resetQueries({ queryKey: ['events', 'list'] });
  };
  return (
    <>
      <Bar title="Events" />
      <div className="events">
        <EventFilters search={search} onChange={filterBy} />
        {fresh.count > 0 && (
          <button type="button" className="new-rows" onClick={() => void showNew()}>
            <ArrowUp size={13} aria-hidden />
            {fresh.count} new
          </button>
        )}
        {list.isError && (
          <div className="empty">
            <FailureNotice error={list.error} onRetry={() => void list.refetch()} />
          </div>
        )}
        {list.isPending && <PlaceholderEvents />}
        {list.isSuccess && rows.length === 0 && (
          <NoEvents isFiltered={Object.keys(search).length > 0} onClear={() => filterBy({})} />
        )}
        {rows.length > 0 && (
          <div className="events-scroll" tabIndex={-1}>
            <ul className="event-list" aria-label="Events">
              {rows.map((event) => (
                <EventRow key={event.id} event={event} />
              ))}
            </ul>
            <MoreRows
              label="Show earlier events"
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

const placeholderWidths = [180, 140, 200, 160, 150, 190, 170, 140];

function PlaceholderEvents() {
  return (
    <ul className="event-list" aria-busy aria-label="Events">
      {placeholderWidths.map((inlineSize, index) => (
        <li key={index} className="event-row">
          <span className="placeholder" style={{ inlineSize: 120 }} />
          <span className="placeholder" style={{ inlineSize: 60 }} />
          <span className="placeholder" style={{ inlineSize }} />
          <span className="placeholder" style={{ inlineSize: 90 }} />
        </li>
      ))}
    </ul>
  );
}

function NoEvents({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }) {
  const collection = useLoadedCollections()?.find(({ system, type }) => !system && type === 'base');
  if (isFiltered)
    return (
      <Empty
        icon={<SearchX size={24} strokeWidth={1.5} aria-hidden />}
        title="No event matches"
        actions={<Button onClick={onClear}>Clear the filters</Button>}
      >
        Events are kept for 30 days, unless the operator has set another time. Imports make none.
      </Empty>
    );
  return (
    <Empty
      icon={<History size={24} strokeWidth={1.5} aria-hidden />}
      title="No events yet"
      actions={
        collection !== undefined && (
          <Link
            className="button"
            data-tone="primary"
            to="/c/$collection"
            params={{ collection: collection.name }}
            search={{ record: 'new' }}
          >
            New record in {collection.name}
          </Link>
        )
      }
      code={`curl "${apiUrl}/api/webhooks/events?sort=-created" \\\n  -H "Authorization: $TOKEN"`}
    >
      Each record that is created, updated or deleted is an event. It is sent to the endpoints that want it,
      and stays here with what became of that.
    </Empty>
  );
}
