import type { Mutant } from './mutant.ts';

const attacks = 'test/api/backup-attacks.test.ts';
const backups = 'test/api/backups.test.ts';
const guards = 'test/api/restore-guards.test.ts';
const holds = 'test/api/lost-holds.test.ts';
const resumed = 'test/faults/archive-resumed.test.ts';
const templates = 'test/archives/templates.test.ts';

/** What decides whether a backup is restored, and what it takes over. */
export const backupMutants: readonly Mutant[] = [
  {
    name: 'a request to an instance that was replaced meanwhile begins no job',
    file: 'src/backups/instance-backups.ts',
    from: 'if (row?.shownId !== shownId) throw new BeingReplaced();',
    to: '',
    tests: ['test/api/backup-life.test.ts'],
  },
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
  {
    name: 'the MAC of an archive is compared',
    file: 'src/secrets/archive-mac.ts',
    from: 'return one.length === other.length && timingSafeEqual(one, other);',
    to: 'return one.length === other.length || timingSafeEqual(one, other);',
    tests: [attacks],
  },
  {
    name: 'a process writes nothing to an instance that is marked as replaced',
    file: 'src/open-instance.ts',
    from: 'if (opening.isSettled) await requireNotReplaced(reader);',
    to: '',
    tests: [guards],
  },
  {
    name: 'a position in events that a restore has lost is refused',
    file: 'src/events/lost-events.ts',
    from: 'position > after && position <= through',
    to: 'position > through && position <= after',
    tests: [guards],
  },
  {
    name: 'an instance has one job at a time',
    file: 'src/storage/migrations/backup-jobs.ts',
    from: 'CREATE UNIQUE INDEX "$transfer_open" ON',
    to: 'CREATE INDEX "$transfer_open" ON',
    tests: [backups],
  },
  {
    name: 'a restore that was given up does not begin to replace the instance',
    file: 'src/transfer/archive/take-place.ts',
    from: 'await directory.beginReplacing(replaced, alongside);',
    to: 'await directory.beginReplacing(replaced);',
    tests: [holds],
  },
  {
    name: 'a restore that was given up does not take the place of the instance',
    file: 'src/transfer/archive/import-archive.ts',
    from: '        ...(ofImport && { alongside: ofImport }),\n',
    to: '',
    tests: [holds],
  },
  {
    name: 'a backup that was given up is not stored',
    file: 'src/jobs/run-transfer.ts',
    from: 'await data.home.background.write((tx) => requireGoingOn(parts, job, tx));',
    to: '',
    tests: [holds],
  },
  {
    name: 'only the holder of a job ends it',
    file: 'src/backups/job-lease.ts',
    from: "return sql`id = ${id} AND holder = ${holder} AND state = 'running'`;",
    to: "return sql`id = ${id} AND ${holder} = ${holder} AND state = 'running'`;",
    tests: [holds],
  },
  {
    name: 'a process does not give up the jobs that it runs itself',
    file: 'src/jobs/job-runner.ts',
    from: 'if (!this.#jobIds.has(job.id)) await',
    to: 'await',
    tests: [holds],
  },
  {
    name: 'an import goes on only with the archive that it began with',
    file: 'src/transfer/archive/filling-progress.ts',
    from: '?.source === source;',
    to: '?.source !== undefined;',
    tests: [resumed],
  },
  {
    name: 'an import goes on only over the rows that the archive has',
    file: 'src/transfer/archive/filling-progress.ts',
    from: 'this.#rows === storedRows && this.#reached !== this.#before?.digest',
    to: "this.#rows === storedRows && this.#reached === ''",
    tests: [resumed],
  },
  {
    name: 'what an import has left is kept for a day only where it can go on',
    file: 'src/instances/instance-removals.ts',
    from: 'one.isResumable ? resumableMs : abandonedMs',
    to: 'resumableMs',
    tests: ['src/instances/instance-removals.test.ts'],
  },
  {
    name: 'a template has no rows of tables with accounts, keys and secrets',
    file: 'src/transfer/archive/write-archive.ts',
    from: 'isTemplate ? templateCondition(table) : sql`TRUE`',
    to: 'sql`TRUE`',
    tests: [templates],
  },
  {
    name: 'a template has no records',
    file: 'src/transfer/archive/write-archive.ts',
    from: 'isTemplate ? noRows() : from.scan(select)',
    to: 'from.scan(select)',
    tests: [templates],
  },
  {
    name: 'a template is not restored',
    file: 'src/transfer/archive/import-archive.ts',
    from: "if (isTemplate && as !== 'moved' && as !== 'copy')",
    to: "if (isTemplate && as === 'moved' && path === '')",
    tests: [templates],
  },
  {
    name: 'the settings of a template have no secrets',
    file: 'src/transfer/archive/template-rows.ts',
    from: "if (table !== '$instance_setting') return row;",
    to: 'return row;',
    tests: [templates],
  },
];
