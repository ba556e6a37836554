import { queryOptions, useQuery } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import type { Schemas } from '../../api/schema.ts';
import { useToastedAttempt } from '../../parts/attempt-form.tsx';
import { Button } from '../../parts/button.tsx';
import { DataTable } from '../../parts/data-table/data-table.tsx';
import type { DataColumn } from '../../parts/data-table/table-layout.ts';
import { plural } from '../../parts/time.tsx';
import { showToast } from '../../parts/toast.tsx';
import { useSectionSearch } from './settings-form.tsx';

type Cron = Schemas['Cron'];

const cronsQuery = queryOptions({
  queryKey: ['crons'],
  queryFn: async ({ signal }) => call('GET /api/crons', { signal }),
});

const titles: Readonly<Record<string, string>> = {
  fileCleanup: 'Remove files of deleted records',
  webhookLogCleanup: 'Delete old events and deliveries',
  __pbMFACleanup__: 'Delete expired sign-ins',
  __pbOTPCleanup__: 'Delete expired one-time passwords',
  __pbLogsCleanup__: 'Delete old entries of the request log',
  __pbAutoBackup__: 'Make a backup',
};

const titleOf = ({ id }: Cron): string => titles[id] ?? id;

/** What runs on a schedule, and can be run at once. */
export function CronSection() {
  const [{ sort = '' }, set] = useSectionSearch();
  const { data: crons, error, refetch } = useQuery(cronsQuery);
  return (
    <DataTable
      name="jobs"
      label="Scheduled jobs"
      countOf={(count) => plural(count, 'job')}
      columns={columns}
      rows={crons}
      error={error}
      onRetry={() => void refetch()}
      sort={sort}
      onSort={(next) => set({ sort: next })}
      filters={<p className="soft">Schedules are in UTC.</p>}
      empty={<p className="data-empty soft">No scheduled jobs</p>}
    />
  );
}

const columns: readonly DataColumn<Cron>[] = [
  { id: 'job', label: 'Job', size: 260, kind: 'main', sort: titleOf, cell: titleOf },
  {
    id: 'schedule',
    label: 'Schedule',
    size: 160,
    cell: ({ expression }) => <span className="mono">{expression}</span>,
  },
  { id: 'actions', label: 'Actions', size: 120, kind: 'number', cell: (cron) => <RunNow cron={cron} /> },
];

function RunNow({ cron }: { readonly cron: Cron }) {
  const { isBusy, attempt } = useToastedAttempt();
  const title = titleOf(cron);
  const run = async (): Promise<void> => {
    await call('POST /api/crons/{id}', { path: { id: cron.id } });
    showToast(`${title}: started.`);
  };
  return (
    <Button aria-label={`Run now: ${title}`} disabled={isBusy} onClick={() => attempt(run)}>
      Run now
    </Button>
  );
}
