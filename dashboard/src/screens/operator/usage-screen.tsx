import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import ChartColumn from 'lucide-react/icons/chart-column';
import { type TopUsage, topUsageQuery, type UsageName, usageNames } from '../../api/operator.ts';
import { Empty } from '../../parts/empty.tsx';
import { FailureNotice } from '../../parts/notice.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { bytesText } from './instance-values.ts';
import { OperatorPage } from './operator-page.tsx';
import type { OperatorSearch } from './operator-search.ts';
import { SpanChoice, spanOf } from './span-choice.tsx';

const route = getRouteApi('/operator/$section');

/** The instances that have used most. */
export function UsageScreen() {
  return (
    <OperatorPage title="Usage" scope="usage:read">
      <TopTable />
    </OperatorPage>
  );
}

function useSet(): (change: OperatorSearch) => void {
  const navigate = route.useNavigate();
  return (change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
}

function TopTable() {
  const search = route.useSearch();
  const span = spanOf(search);
  const by = usageNames.find((one) => one === search.by) ?? 'requests';
  const set = useSet();
  const { data, error, refetch } = useQuery({
    ...topUsageQuery(by, span),
    placeholderData: keepPreviousData,
  });
  const most = Math.max(1, ...(data ?? []).map((item) => item[by]));
  return (
    <div className="webhooks-scroll" tabIndex={-1}>
      <div className="event-filters">
        <SpanChoice span={span} onChange={(next) => set({ span: next })} />
      </div>
      {error !== null && (
        <div className="operator-notices">
          <FailureNotice error={error} onRetry={() => void refetch()} />
        </div>
      )}
      {data?.length === 0 && <NoUsage />}
      {data?.length !== 0 && error === null && (
        <Table
          caption="Usage by instance"
          columns={[instance, shareOf(by, most), ...counts, ...gauges]}
          rows={data}
          keyOf={(item) => item.instance}
          // There is one order: who has used most comes first.
          sort={`-${by}`}
          onSort={(sort) => {
            const name = usageNames.find((one) => sort.endsWith(one));
            if (name !== undefined) set({ by: name });
          }}
        />
      )}
    </div>
  );
}

const instance: Column<TopUsage> = {
  label: 'Instance',
  kind: 'main',
  cell: ({ instance: id, slug }) =>
    slug === '' ? (
      <span className="faint mono cut">{id}</span>
    ) : (
      <Link className="table-link cut" to="/operator/instances/$instance" params={{ instance: id }}>
        {slug}
      </Link>
    ),
};

function shareOf(by: UsageName, most: number): Column<TopUsage> {
  return {
    label: 'Share',
    cell: (item) => (
      <progress className="progress operator-share" value={item[by]} max={most} aria-label="Share" />
    ),
  };
}

const texts: Readonly<Record<UsageName, string>> = {
  requests: 'Requests',
  writes: 'Writes',
  events: 'Events',
  deliveries: 'Deliveries',
  sentBytes: 'Sent',
};

const counts: readonly Column<TopUsage>[] = usageNames.map((name) => ({
  label: texts[name],
  kind: 'number',
  sort: name,
  cell: (item) => (name === 'sentBytes' ? bytesText(item[name]) : item[name].toLocaleString('en')),
}));

const gauges: readonly Column<TopUsage>[] = [
  {
    label: 'Connections',
    kind: 'number',
    cell: ({ realtimeConnections }) => realtimeConnections.toLocaleString('en'),
  },
  { label: 'Records', kind: 'number', cell: ({ records }) => records?.toLocaleString('en') ?? '–' },
  {
    label: 'Data',
    kind: 'number',
    cell: ({ dataBytes }) => (dataBytes === null ? '–' : bytesText(dataBytes)),
  },
];

function NoUsage() {
  return (
    <Empty icon={<ChartColumn size={24} strokeWidth={1.5} aria-hidden />} title="No usage in this time">
      Usage shows with a delay of about a minute.
    </Empty>
  );
}
