import { useQuery } from '@tanstack/react-query';
import { backupsQuery } from '../../api/backups.ts';
import type { Settings } from '../../api/settings.ts';
import { Notice } from '../../parts/notice.tsx';
import { BackupForm } from './backup-form.tsx';
import { BackupList } from './backup-list.tsx';
import { BackupSchedule } from './backup-schedule.tsx';
import { BackupStatusView } from './backup-status-view.tsx';
import { Group } from '../../parts/form/group.tsx';
import { useSectionSearch } from './settings-form.tsx';
import { useBackupJobs } from './use-backup-jobs.ts';

/** Backups of the instance: the last and the next one, all that are stored, and when and where they are made. */
export function BackupSection({ settings }: { readonly settings: Settings }) {
  const [{ restored }] = useSectionSearch();
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
        <BackupList
          backups={backups}
          // While an instance is restored, the service answers with 503.
          error={running?.kind === 'restore' ? null : error}
          onRetry={() => void refetch()}
          jobs={jobs}
        />
      </Group>
      <BackupSchedule settings={settings} />
    </>
  );
}
