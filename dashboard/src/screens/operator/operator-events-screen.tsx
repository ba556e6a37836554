import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import History from 'lucide-react/icons/history';
import { type NamedEvent, operatorEventsQuery } from '../../api/operator.ts';
import { Empty } from '../../parts/empty.tsx';
import { MoreRows } from '../../parts/more-rows.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { OperatorPage } from './operator-page.tsx';

/** What became of instances, the latest first. */
export function OperatorEventsScreen() {
  return (
    <OperatorPage title="Events" scope="instances:read">
      <Events />
    </OperatorPage>
  );
}

function Events() {
  const list = useInfiniteQuery(operatorEventsQuery);
  const rows = list.data?.pages.flatMap(({ items }) => items);
  return (
    <div className="webhooks-scroll" tabIndex={-1}>
      {list.isError && (
        <div className="operator-notices">
          <FailureNotice error={list.error} onRetry={() => void list.refetch()} />
        </div>
      )}
      {rows?.length === 0 && (
        <Empty icon={<History size={24} strokeWidth={1.5} aria-hidden />} title="No events yet">
          Changes of instances, quotas and backups.
        </Empty>
      )}
      {rows?.length !== 0 && !list.isError && (
        <Table caption="Events" columns={columns} rows={rows} keyOf={({ id }) => id} />
      )}
      <MoreRows
        label="Show older events"
        isShown={list.hasNextPage}
        isBusy={list.isFetchingNextPage}
        onMore={() => void list.fetchNextPage()}
      />
    </div>
  );
}

const columns: readonly Column<NamedEvent>[] = [
  { label: 'Event', kind: 'main', cell: ({ kind }) => kind },
  {
    label: 'Time',
    cell: ({ created }) => (
      <span className="soft">
        <Time value={created} />
      </span>
    ),
  },
  {
    label: 'Instance',
    cell: ({ instance, slug }) => (
      <Link className="link cut" to="/operator/instances/$instance" params={{ instance }}>
        {slug}
      </Link>
    ),
  },
  {
    label: 'Details',
    kind: 'wide',
    cell: ({ data }) => {
      const details = detailsOf(data);
      return details === '' ? null : <span className="mono soft wrap">{details}</span>;
    },
  },
];

function detailsOf({ slug: _slug, ...rest }: NamedEvent['data']): string {
  return Object.entries(rest)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
