import type { Mutant } from './mutant.ts';

const attacks = 'test/api/backup-attacks.test.ts';
const backups = 'test/api/backups.test.ts';

/** What decides whether a backup is restored, and what it takes over. */
export const backupMutants: readonly Mutant[] = [
  {
    name: 'superusers restore only archives with the MAC of the service',
    file: 'src/jobs/run-transfer.ts',
    from: "if (job.place !== '' || isArchiveMac(",
    to: "if (job.place !== '' || job.id !== '' || isArchiveMac(",
    tests: [attacks],
  },
  {
    name: 'an archive of another instance is not restored',
    file: 'src/jobs/run-transfer.ts',
    from: 'manifest.instance.shownId !== job.instance',
    to: "manifest.instance.shownId === ''",
    tests: [attacks],
  },
  {
    name: 'a backup keeps the outcomes of events that an older restore had lost',
    file: 'src/transfer/archive/take-over.ts',
    from: 'const common = commonEnd(after, lost, await readLostEvents(database));',
    to: 'const common = after;',
    tests: [backups],
  },
];
