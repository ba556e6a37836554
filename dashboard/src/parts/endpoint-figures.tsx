import { useQuery } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import type { Schemas } from '../api/schema.ts';
import { DataTable } from './data-table/data-table.tsx';
import type { DataColumn } from './data-table/table-layout.ts';
import { milliseconds, percent } from './percent.ts';
import { Section } from './section.tsx';
import { plural } from './time.tsx';

type Row = Omit<Schemas['EndpointFigures']['days'][number], 'day'> & { readonly id: string };

const within = [5, 60] as const;
const daysShown = 7;

const columns: readonly DataColumn<Row>[] = [
  { id: 'day', label: 'Day (UTC)', size: 130, kind: 'main', cell: ({ id }) => id },
  ...(['delivered', 'exhausted', 'expired'] as const).map((name): DataColumn<Row> => ({
    id: name,
    label: name.slice(0, 1).toUpperCase() + name.slice(1),
    size: 96,
    kind: 'number',
    cell: (row) => row[name].toLocaleString(),
  })),
  ...([50, 95, 99] as const).map((rank): DataColumn<Row> => ({
    id: `p${rank}`,
    label: `p${rank}`,
    size: 84,
    kind: 'number',
    cell: (row) => milliseconds(row[`latencyP${rank}Ms`]),
  })),
  ...within.map((seconds): DataColumn<Row> => ({
    id: `within${seconds}`,
    label: `Within ${seconds} s`,
    size: 104,
    kind: 'number',
    cell: (row) => percent(row.within.find((one) => one.seconds === seconds)?.share ?? null),
  })),
];

/** How the deliveries of an endpoint ended in the last 30 days, with their latencies from the commit of the change on. */
export function EndpointFigures({ id }: { readonly id: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['endpoints', id, 'figures'],
    queryFn: async ({ signal }) =>
      call('GET /api/webhooks/endpoints/{id}/figures', {
        path: { id },
        query: { within: within.join(',') },
        signal,
      }),
    staleTime: 60_000,
  });
  return (
    <Section title="Commit to delivery">
      <DataTable
        name="endpoint-figures"
        label="Deliveries by day"
        countOf={(count) => plural(count, 'day')}
        columns={columns}
        rows={data && rowsOf(data)}
        error={error}
        onRetry={() => void refetch()}
        empty={null}
      />
    </Section>
  );
}

/** All days together, and the last of them, the latest first. */
function rowsOf({ days, total }: Schemas['EndpointFigures']): readonly Row[] {
  const last = days.slice(-daysShown).toReversed();
  return [
    { ...total, id: `Last ${days.length} days` },
    ...last.map(({ day, ...figures }) => ({ ...figures, id: day })),
  ];
}
