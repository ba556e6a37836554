import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import History from 'lucide-react/icons/history';
import { type NamedEvent, operatorEventsQuery } from '../../api/operator.ts';
import { CopyRows } from '../../parts/data-table/copy-rows.tsx';
import { DataTable } from '../../parts/data-table/data-table.tsx';
import { pagesOf } from '../../parts/data-table/pages-of.ts';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { Empty } from '../../parts/empty.tsx';
import { timeColumn } from '../../parts/data-table/time-column.tsx';
import { plural } from '../../parts/time.tsx';
import { useSectionSearch } from './operator-page.tsx';

/** What became of instances. */
export function OperatorEvents() {
  const [{ sort = '-created' }, set] = useSectionSearch();
  const list = useInfiniteQuery(operatorEventsQuery(sort === 'created' ? 'asc' : 'desc'));
  return (
    <DataTable
      name="operator-events"
      label="Events"
      countOf={(count) => plural(count, 'event')}
      columns={columns}
      rows={list.data?.pages.flatMap(({ items }) => items)}
      {...pagesOf(list)}
      sort={sort}
      onSort={(next) => set({ sort: next })}
      empty={
        <Empty icon={History} title="No events yet">
          Changes to instances, quotas and backups.
        </Empty>
      }
      scope={sort}
      renderBulk={(rows) => <CopyRows rows={rows} />}
    />
  );
}

const columns: readonly DataColumn<NamedEvent>[] = [
  { id: 'event', label: 'Event', size: 200, kind: 'main', cell: ({ kind }) => kind },
  {
    id: 'instance',
    label: 'Instance',
    size: 180,
    cell: ({ instance, slug }) => (
      <Link className="link" to="/operator/instances/$instance" params={{ instance }}>
        {slug}
      </Link>
    ),
  },
  {
    id: 'details',
    label: 'Details',
    size: 320,
    kind: 'wide',
    cell: ({ data }) => {
      const details = detailsOf(data);
      return details === '' ? null : <span className="mono soft">{details}</span>;
    },
  },
  timeColumn,
];

function detailsOf({ slug: _slug, ...rest }: NamedEvent['data']): string {
  return Object.entries(rest)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
