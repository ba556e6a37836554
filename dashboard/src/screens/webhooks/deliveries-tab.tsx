import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import X from 'lucide-react/icons/x';
import { useLoadedCollections } from '../../api/collections.ts';
import { attemptDigest } from '../../api/deliveries.ts';
import { deliveriesQuery } from '../../api/endpoint-deliveries.ts';
import { type Delivery, type Endpoint, type Surroundings, useSurroundings } from '../../api/events.ts';
import { Button } from '../../parts/button.tsx';
import { DeliveryBadge } from '../../parts/delivery-badge.tsx';
import {
  deliveryStatuses,
  eventKinds,
  explainDelivery,
  eventTitle,
  statusNames,
} from '../../parts/delivery-words.ts';
import { MoreRows } from '../../parts/more-rows.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { Time } from '../../parts/time.tsx';
import type { EndpointSearch } from './webhook-search.ts';

interface DeliveriesTabProps {
  readonly endpoint: Endpoint;
  readonly search: EndpointSearch;
  readonly onSearch: (search: EndpointSearch) => void;
}

/** What the endpoint was sent, the last first. What is filtered by is in the address. */
export function DeliveriesTab({ endpoint, search, onSearch }: DeliveriesTabProps) {
  const { status = '', kind = '', collection = '', record = '', cause = '' } = search;
  const surroundings = useSurroundings();
  const list = useInfiniteQuery(
    deliveriesQuery({ endpoint: endpoint.id, status, kind, collection, record, cause }),
  );
  const rows = list.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <section className="section" aria-label="Deliveries">
      <Filters search={search} onSearch={onSearch} />
      {list.isError && <FailureNotice error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && (
        <div className="panel delivery-list" aria-busy>
          {[220, 180, 240, 200].map((inlineSize) => (
            <div key={inlineSize} className="delivery-line">
              <span className="placeholder" style={{ inlineSize }} />
            </div>
          ))}
        </div>
      )}
      {list.isSuccess && rows.length === 0 && (
        <p className="panel catcher-wait soft">
          {isFiltered(search)
            ? 'No delivery matches.'
            : 'Nothing was sent yet. Each event that the endpoint subscribes to makes a delivery.'}
        </p>
      )}
      {rows.length > 0 && (
        <ul className="panel delivery-list" aria-label="Deliveries">
          {rows.map((delivery) => (
            <DeliveryLine key={delivery.id} delivery={delivery} surroundings={surroundings} />
          ))}
        </ul>
      )}
      <MoreRows
        label="Show earlier deliveries"
        isShown={list.hasNextPage}
        isBusy={list.isFetchingNextPage}
        onMore={() => void list.fetchNextPage()}
      />
    </section>
  );
}

function isFiltered({ status, kind, collection, record, cause }: EndpointSearch): boolean {
  return [status, kind, collection, record, cause].some((value) => value !== undefined);
}

function Filters({ search, onSearch }: Omit<DeliveriesTabProps, 'endpoint'>) {
  const collections = useLoadedCollections()?.filter(({ system }) => !system) ?? [];
  const { status: _status, kind: _kind, collection: _collection, ...rest } = search;
  const { record: _record, cause: _cause, ...other } = rest;
  const change = (name: keyof EndpointSearch, value: string | undefined): void => {
    const { [name]: _before, ...kept } = search;
    onSearch({ ...kept, ...(value !== undefined && value !== '' && { [name]: value }) });
  };
  return (
    <search className="delivery-filters" aria-label="Filter deliveries">
      <select
        className="input"
        aria-label="Status"
        value={search.status ?? ''}
        onChange={(event) => change('status', event.target.value)}
      >
        <option value="">All statuses</option>
        {deliveryStatuses.map((one) => (
          <option key={one} value={one}>
            {statusNames[one]}
          </option>
        ))}
      </select>
      <select
        className="input"
        aria-label="Type"
        value={search.kind ?? ''}
        onChange={(event) => change('kind', event.target.value)}
      >
        <option value="">All types</option>
        {eventKinds.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      {/* An API key may not know which there are. */}
      {collections.length > 0 && (
        <select
          className="input"
          aria-label="Collection"
          value={search.collection ?? ''}
          onChange={(event) => change('collection', event.target.value)}
        >
          <option value="">All collections</option>
          {collections.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
      <input
        className="input mono"
        data-filter
        aria-label="Record id"
        placeholder="Record id"
        value={search.record ?? ''}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => change('record', event.target.value.trim())}
      />
      {isFiltered(search) && (
        <Button tone="quiet" onClick={() => onSearch(other)}>
          <X size={14} aria-hidden />
          Clear
        </Button>
      )}
      <CauseChip cause={search.cause} onClear={() => change('cause', undefined)} />
    </search>
  );
}

interface CauseChipProps {
  readonly cause: string | undefined;
  readonly onClear: () => void;
}

function CauseChip({ cause, onClear }: CauseChipProps) {
  if (cause === undefined) return null;
  return (
    <button type="button" className="chip cause-chip" onClick={onClear}>
      <span className="cut">Cause: {cause}</span>
      <X size={12} aria-hidden />
      <span className="unseen">Any cause</span>
    </button>
  );
}

interface DeliveryLineProps {
  readonly delivery: Delivery;
  readonly surroundings: Surroundings | undefined;
}

function DeliveryLine({ delivery, surroundings }: DeliveryLineProps) {
  const { id, kind, collection, record, created, attempts, cause } = delivery;
  const { tone, title } = explainDelivery(delivery, surroundings);
  return (
    <li className="delivery-line">
      <DeliveryBadge tone={tone} text={title} />
      <Link className="event-link cut" to="/deliveries/$id" params={{ id }}>
        {eventTitle({ kind, collection })}
        {collection !== '' && <span className="mono soft"> {record}</span>}
      </Link>
      <span className="delivery-line-cause soft cut" title={cause}>
        {cause === '' ? <span className="mono">{attemptDigest({ attempts })}</span> : cause}
      </span>
      <span className="soft small">
        <Time value={created} />
      </span>
    </li>
  );
}
