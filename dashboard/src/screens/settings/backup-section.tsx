import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import Archive from 'lucide-react/icons/archive';
import { backupsQuery } from '../../api/backups.ts';
import { apiUrl } from '../../api/client.ts';
import type { Settings } from '../../api/settings.ts';
import { Empty } from '../../parts/empty.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { BackupForm } from './backup-form.tsx';
import { BackupList } from './backup-list.tsx';
import { BackupSchedule } from './backup-schedule.tsx';
import { BackupStatusView } from './backup-status-view.tsx';
import { Group } from './draft-fields.tsx';
import { useBackupJobs } from './use-backup-jobs.ts';

const route = getRouteApi('/shell/settings/$section');

/** Backups of the instance: the last and the next one, all that are stored, and when and where they are made. */
export function BackupSection({ settings }: { readonly settings: Settings }) {
  const { restored } = route.useSearch();
  const jobs = useBackupJobs();
  const { running } = jobs;
  const { data: backups, error, refetch } = useQuery(backupsQuery);
  return (
    <>
      {restored !== undefined && running === undefined && (
        <Notice tone="ok">The instance is restored from {restored}.</Notice>
      )}
      <BackupStatusView jobs={jobs} />
      <Group title="Stored backups">
        <BackupForm jobs={jobs} />
        {/* While an instance is restored, the service answers with 503. */}
        {error !== null && running?.kind !== 'restore' && (
          <FailureNotice error={error} onRetry={() => void refetch()} />
        )}
        {backups === undefined && error === null && <PlaceholderBackups />}
        {backups?.length === 0 && <NoBackups />}
        {backups !== undefined && backups.length > 0 && <BackupList backups={backups} jobs={jobs} />}
      </Group>
      <BackupSchedule settings={settings} />
    </>
  );
}

function NoBackups() {
  return (
    <Empty
      icon={<Archive size={24} strokeWidth={1.5} aria-hidden />}
      title="No backups yet"
      code={`curl -X POST ${apiUrl}/api/backups \\\n  -H "Authorization: $TOKEN"`}
    >
      A backup holds all records, files, accounts, keys and webhooks of this instance at one moment.
    </Empty>
  );
}

function PlaceholderBackups() {
  return (
    <div className="panel settings-list" aria-hidden>
      {[180, 140, 210].map((inlineSize) => (
        <div key={inlineSize} className="settings-row">
          <span className="placeholder" style={{ inlineSize }} />
        </div>
      ))}
    </div>
  );
}
