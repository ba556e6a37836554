import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import type { Schemas } from '../../api/schema.ts';
import { Button } from '../../parts/button.tsx';
import { FailureNotice, messageOf } from '../../parts/notice.tsx';
import { showToast } from '../../parts/toast.tsx';

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

/** What runs on a schedule, and can be run at once. */
export function CronSection() {
  const { data: crons, error, refetch } = useQuery(cronsQuery);
  if (error !== null && crons === undefined)
    return <FailureNotice error={error} onRetry={() => void refetch()} />;
  return (
    <ul className="panel settings-list" aria-label="Scheduled jobs">
      {crons?.map((cron) => (
        <CronRow key={cron.id} cron={cron} />
      ))}
    </ul>
  );
}

function CronRow({ cron: { id, expression } }: { readonly cron: Schemas['Cron'] }) {
  const [isBusy, setBusy] = useState(false);
  const title = titles[id] ?? id;
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      await call('POST /api/crons/{id}', { path: { id } });
      showToast(`${title}: started.`);
    } catch (error) {
      showToast(messageOf(error), 'failed');
    }
    setBusy(false);
  };
  return (
    <li className="settings-row">
      <span className="settings-row-main">
        <span className="settings-row-title">{title}</span>
        <span className="soft settings-row-note">
          <span className="mono">{expression}</span> UTC
        </span>
      </span>
      <span className="settings-actions">
        <Button aria-label={`Run now: ${title}`} disabled={isBusy} onClick={() => void run()}>
          Run now
        </Button>
      </span>
    </li>
  );
}
