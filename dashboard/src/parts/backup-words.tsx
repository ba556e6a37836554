import type { BackupJob } from '../api/backups.ts';
import { Notice } from './notice.tsx';
import { Time } from './time.tsx';

/** What has failed, before the name of the backup. */
const failureWords: Readonly<Record<BackupJob['kind'], string>> = {
  backup: 'The backup',
  restore: 'The restore of',
  verify: 'The verification of',
  export: 'The archive',
  template: 'The template',
  clone: 'The copy',
};

/** What runs, before the name of the backup. */
export const runningWords: Readonly<Record<BackupJob['kind'], string>> = {
  backup: 'Backing up',
  restore: 'Restoring',
  verify: 'Verifying',
  export: 'Writing an archive',
  template: 'Writing a template',
  clone: 'Copying the instance to',
};

/** Why the last job failed. */
export function JobFailure({ job: { kind, backup, ended, message } }: { readonly job: BackupJob }) {
  return (
    <Notice tone="failed">
      {failureWords[kind]} <span className="mono">{backup}</span> failed <Time value={ended} />. {message}
    </Notice>
  );
}
