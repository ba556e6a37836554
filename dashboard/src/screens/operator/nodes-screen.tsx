import { useQuery } from '@tanstack/react-query';
import Server from 'lucide-react/icons/server';
import { nodesQuery } from '../../api/operator.ts';
import type { Schemas } from '../../api/schema.ts';
import { Empty } from '../../parts/empty.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { duration, Time } from '../../parts/time.tsx';
import { OperatorPage } from './operator-page.tsx';

/** The processes that serve the instances. */
export function NodesScreen() {
  return (
    <OperatorPage title="Nodes" scope="instances:read">
      <Nodes />
    </OperatorPage>
  );
}

function Nodes() {
  const { data: nodes, error, refetch } = useQuery(nodesQuery);
  if (error !== null)
    return (
      <div className="operator-notices">
        <FailureNotice error={error} onRetry={() => void refetch()} />
      </div>
    );
  if (nodes?.length === 0)
    return (
      <Empty icon={<Server size={24} strokeWidth={1.5} aria-hidden />} title="One process">
        With SQLite, one process serves all instances. With PostgreSQL, its nodes are listed here.
      </Empty>
    );
  return (
    <div className="webhooks-scroll" tabIndex={-1}>
      <Table caption="Nodes" columns={columns} rows={nodes} keyOf={({ id }) => id} />
    </div>
  );
}

const columns: readonly Column<Schemas['Node']>[] = [
  { label: 'Node', kind: 'main', cell: ({ id }) => <span className="mono">{id}</span> },
  { label: 'Version', cell: ({ version }) => version },
  { label: 'Started', cell: ({ started }) => <Time value={started} /> },
  { label: 'Last seen', cell: ({ seenSeconds }) => `${duration(seenSeconds)} ago` },
  { label: 'Shards', kind: 'number', cell: ({ shards }) => shards.toLocaleString('en') },
];
