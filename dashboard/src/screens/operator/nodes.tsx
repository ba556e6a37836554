import { useQuery } from '@tanstack/react-query';
import Server from 'lucide-react/icons/server';
import { nodesQuery } from '../../api/operator.ts';
import type { Schemas } from '../../api/schema.ts';
import { DataTable } from '../../parts/data-table/data-table.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { Empty } from '../../parts/empty.tsx';
import { duration, plural, Time, timeWidth } from '../../parts/time.tsx';
import { useSectionSearch } from './operator-page.tsx';

/** The processes that serve the instances. */
export function Nodes() {
  const [{ sort = '' }, set] = useSectionSearch();
  const { data: nodes, error, refetch } = useQuery(nodesQuery);
  return (
    <DataTable
      name="nodes"
      label="Nodes"
      countOf={(count) => plural(count, 'node')}
      columns={columns}
      rows={nodes}
      error={error}
      onRetry={() => void refetch()}
      sort={sort}
      onSort={(next) => set({ sort: next })}
      empty={
        <Empty icon={Server} title="One process">
          With SQLite, one process serves all instances. With PostgreSQL, its nodes are listed here.
        </Empty>
      }
    />
  );
}

const columns: readonly DataColumn<Schemas['Node']>[] = [
  {
    id: 'node',
    label: 'Node',
    size: 240,
    kind: 'main',
    sort: ({ id }) => id,
    cell: ({ id }) => <span className="mono">{id}</span>,
  },
  {
    id: 'version',
    label: 'Version',
    size: 120,
    sort: ({ version }) => version,
    cell: ({ version }) => version,
  },
  {
    id: 'started',
    label: 'Started',
    size: timeWidth,
    kind: 'number',
    sort: ({ started }) => started,
    cell: ({ started }) => <Time value={started} />,
  },
  {
    id: 'seen',
    label: 'Last seen',
    size: 130,
    kind: 'number',
    sort: ({ seenSeconds }) => -seenSeconds,
    cell: ({ seenSeconds }) => `${duration(seenSeconds)} ago`,
  },
  {
    id: 'shards',
    label: 'Shards',
    size: 90,
    kind: 'number',
    sort: ({ shards }) => shards,
    cell: ({ shards }) => shards.toLocaleString(),
  },
];
