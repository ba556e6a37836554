import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import ChartColumn from 'lucide-react/icons/chart-column';
import { useMemo } from 'react';
import { type TopUsage, topUsageQuery, type UsageName, usageNames } from '../../api/operator.ts';
import { DataTable } from '../../parts/data-table/data-table.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { Empty } from '../../parts/empty.tsx';
import { plural } from '../../parts/time.tsx';
import { bytesText } from './instance-values.ts';
import { useSectionSearch } from './operator-page.tsx';
import { SpanChoice, spanOf } from './span-choice.tsx';

/** The instances that have used most. */
export function TopTable() {
  const [search, set] = useSectionSearch();
  const span = spanOf(search);
  const by = usageNames.find((one) => one === search.by) ?? 'requests';
  const { data, error, refetch } = useQuery({
    ...topUsageQuery(by, span),
    placeholderData: keepPreviousData,
  });
  const most = Math.max(1, ...(data ?? []).map((item) => item[by]));
  const columns = useMemo(() => [instance, shareOf(by, most), ...counts, ...gauges], [by, most]);
  return (
    <DataTable
      name="usage"
      label="Usage by instance"
      countOf={(count) => plural(count, 'instance')}
      columns={columns}
      rows={data?.map((item) => ({ ...item, id: item.instance }))}
      error={error}
      onRetry={() => void refetch()}
      // There is one order: who has used most comes first.
      sort={`-${by}`}
      onSort={(sort) => {
        const name = usageNames.find((one) => sort.endsWith(one));
        if (name !== undefined) set({ by: name });
      }}
      filters={<SpanChoice span={span} onChange={(next) => set({ span: next })} />}
      empty={
        <Empty icon={ChartColumn} title="No usage in this period">
          Usage appears after about a minute.
        </Empty>
      }
    />
  );
}

interface UsageRow extends TopUsage {
  readonly id: string;
}

const instance: DataColumn<UsageRow> = {
  id: 'instance',
  label: 'Instance',
  size: 180,
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

function shareOf(by: UsageName, most: number): DataColumn<UsageRow> {
  return {
    id: 'share',
    label: 'Share',
    size: 96,
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

const counts: readonly DataColumn<UsageRow>[] = usageNames.map((name) => ({
  id: name,
  label: texts[name],
  size: 96,
  kind: 'number',
  sort: 'service',
  cell: (item) => (name === 'sentBytes' ? bytesText(item[name]) : item[name].toLocaleString()),
}));

const gauges: readonly DataColumn<UsageRow>[] = [
  {
    id: 'connections',
    label: 'Connections',
    size: 110,
    kind: 'number',
    cell: ({ realtimeConnections }) => realtimeConnections.toLocaleString(),
  },
  {
    id: 'records',
    label: 'Records',
    size: 90,
    kind: 'number',
    cell: ({ records }) => records?.toLocaleString() ?? '–',
  },
  {
    id: 'data',
    label: 'Data',
    size: 90,
    kind: 'number',
    cell: ({ dataBytes }) => (dataBytes === null ? '–' : bytesText(dataBytes)),
  },
];
