import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import { deliveriesQuery } from '../api/deliveries.ts';
import { type Delivery, type Surroundings, useSurroundings } from '../api/events.ts';
import { mayChangeWebhooks } from '../api/session.ts';
import type { DataColumn } from './data-table/table-layout.ts';
import { DataTable } from './data-table/data-table.tsx';
import { pagesOf } from './data-table/pages-of.ts';
import { DeliveryBadge } from './delivery-badge.tsx';
import { attemptDigest, deliveries, eventTitle, explainDelivery } from './delivery-words.ts';
import { endpointLabel } from './endpoint-words.ts';
import { milliseconds } from './percent.ts';
import { Resend } from './resend.tsx';
import { timeColumn } from './data-table/time-column.tsx';
import { type DeliveriesSearch, toSelection } from './event-search.ts';
import { LogFilters } from './log-filters.tsx';

interface DeliveryTableProps {
  readonly search: DeliveriesSearch;
  readonly onSearch: (search: DeliveriesSearch) => void;
  /** The id of the endpoint whose deliveries these are; those of all where it is left out. */
  readonly endpoint?: string;
  readonly plot?: ReactNode;
  /** Where there are none at all. */
  readonly none: ReactNode;
  /** Where none matches. */
  readonly noMatch: ReactNode;
}

/** Deliveries, the latest first: how each stands, of what it is, and what its attempts came to. What is selected can be sent again. */
export function DeliveryTable({ search, onSearch, endpoint, plot, none, noMatch }: DeliveryTableProps) {
  // Once for each address: `24h` moves on with the next look, not while one reads.
  const selection = useMemo(
    () => toSelection(endpoint === undefined ? search : { ...search, endpoint }),
    [search, endpoint],
  );
  const list = useInfiniteQuery(deliveriesQuery(selection));
  const surroundings = useSurroundings();
  const columns = useMemo(() => columnsOf(surroundings, endpoint === undefined), [surroundings, endpoint]);
  const { sort: _sort, ...filters } = search;
  return (
    <DataTable
      name={endpoint === undefined ? 'deliveries' : 'endpoint-deliveries'}
      label="Deliveries"
      countOf={deliveries}
      columns={columns}
      rows={list.data?.pages.flatMap(({ items }) => items)}
      {...pagesOf(list)}
      sort={selection.sort}
      onSort={(sort) => {
        onSearch({ ...filters, ...(sort === 'created' && { sort }) });
      }}
      filters={
        <LogFilters
          label="Filter deliveries"
          ofDeliveries
          search={search}
          onChange={onSearch}
          surroundings={endpoint === undefined ? surroundings : undefined}
        />
      }
      plot={plot}
      empty={Object.keys(filters).length > 0 ? noMatch : none}
      scope={JSON.stringify(selection)}
      {...(mayChangeWebhooks() && {
        renderBulk: (rows: readonly Delivery[]) => (
          <Resend deliveries={rows} surroundings={surroundings} label="Send again …" />
        ),
      })}
    />
  );
}

function columnsOf(
  surroundings: Surroundings | undefined,
  hasEndpoint: boolean,
): readonly DataColumn<Delivery>[] {
  const endpoint: DataColumn<Delivery> = {
    id: 'endpoint',
    label: 'Endpoint',
    size: 150,
    cell: (row) => endpointLabel(row.endpoint, surroundings),
  };
  return [
    {
      id: 'status',
      label: 'Status',
      size: 190,
      cell: (delivery) => {
        const { tone, title } = explainDelivery(delivery, surroundings);
        return <DeliveryBadge tone={tone} text={title} />;
      },
    },
    {
      id: 'event',
      label: 'Event',
      size: 220,
      kind: 'main',
      cell: ({ id, kind, collection, record }) => (
        <Link className="table-link cut" to="/deliveries/$id" params={{ id }}>
          {eventTitle({ kind, collection })}
          {collection !== '' && <span className="mono soft"> {record}</span>}
        </Link>
      ),
    },
    ...(hasEndpoint ? [endpoint] : []),
    {
      id: 'cause',
      label: 'Cause',
      size: 140,
      cell: ({ cause }) => (cause === '' ? null : <span title={cause}>{cause}</span>),
    },
    {
      id: 'attempts',
      label: 'Attempts',
      size: 84,
      cell: (delivery) =>
        delivery.attempts.length === 0 ? null : <span className="mono small">{attemptDigest(delivery)}</span>,
    },
    {
      id: 'duration',
      label: 'Duration',
      size: 84,
      kind: 'number',
      // Of the last attempt: what the receiver took to answer.
      cell: ({ attempts }) => milliseconds(attempts.at(-1)?.totalMs ?? null),
    },
    { ...timeColumn, label: 'Created' },
  ];
}
