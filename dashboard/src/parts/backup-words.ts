import type { BackupJob } from '../api/backups.ts';

/** What has failed, before the name of the backup. */
export const failureWords: Readonly<Record<BackupJob['kind'], string>> = {
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
