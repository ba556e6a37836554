import { useQuery } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import type { Schemas } from '../api/schema.ts';
import { FailureNotice } from './notice.tsx';
import { milliseconds, percent } from './percent.ts';
import { type Column, Table } from './table.tsx';

type Row = Omit<Schemas['EndpointFigures']['days'][number], 'day'> & { readonly name: string };

const within = [5, 60] as const;
const daysShown = 7;

const columns: readonly Column<Row>[] = [
  { label: 'Day (UTC)', kind: 'main', cell: ({ name }) => name },
  { label: 'Delivered', kind: 'number', cell: ({ delivered }) => delivered.toLocaleString() },
  { label: 'Exhausted', kind: 'number', cell: ({ exhausted }) => exhausted.toLocaleString() },
  { label: 'Expired', kind: 'number', cell: ({ expired }) => expired.toLocaleString() },
  { label: 'p50', kind: 'number', cell: ({ latencyP50Ms }) => milliseconds(latencyP50Ms) },
  { label: 'p95', kind: 'number', cell: ({ latencyP95Ms }) => milliseconds(latencyP95Ms) },
  { label: 'p99', kind: 'number', cell: ({ latencyP99Ms }) => milliseconds(latencyP99Ms) },
  ...within.map((seconds): Column<Row> => ({
    label: `Within ${seconds} s`,
    kind: 'number',
    cell: (row) => percent(row.within.find((one) => one.seconds === seconds)?.share ?? null),
  })),
];

/** How the deliveries of an endpoint ended in the last 30 days, with their latencies from the commit of the change on. */
export function EndpointFigures({ id }: { readonly id: string }) {
  const { data, error, isError, refetch } = useQuery({
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
    <section className="section" aria-labelledby="figures">
      <div className="section-head">
        <h2 id="figures">Commit to delivery</h2>
      </div>
      {isError ? (
        <FailureNotice error={error} onRetry={() => void refetch()} />
      ) : (
        <Table
          caption="Deliveries by day"
          columns={columns}
          rows={data && rowsOf(data)}
          keyOf={({ name }) => name}
        />
      )}
    </section>
  );
}

/** All days together, and the last of them, the latest first. */
function rowsOf({ days, total }: Schemas['EndpointFigures']): readonly Row[] {
  const last = days.slice(-daysShown).toReversed();
  return [
    { ...total, name: `Last ${days.length} days` },
    ...last.map(({ day, ...figures }) => ({ ...figures, name: day })),
  ];
}
