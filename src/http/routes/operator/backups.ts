import { JobStore, type TransferJob } from '../../../backups/job-store.ts';
import { ScheduleStore } from '../../../backups/schedule-store.ts';
import { findBackupAge } from '../../../backups/backup-age.ts';
import { toTimestamp } from '../../../base/timestamp.ts';
import { backUpInstance } from '../../../operator/instance-transfers.ts';
import type { InstanceEntry } from '../../../instances/instance-rows.ts';
import { entryOf, findServed } from '../../../operator/managed-instances.ts';
import type { OperatorControl } from '../../../operator/operator-control.ts';
import { nothing } from '../../answer.ts';
import { operatorRoute } from '../../route.ts';
import { emptyAnswer, jsonAnswer } from '../../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../../schemas/schema.ts';
import { jobJson } from '../backups.ts';

const common = { tag: 'operator' } as const;

/** Backups of all instances, for the programs of the operator. */
export const operatorBackupRoutes = [
  operatorRoute({
    ...common,
    method: 'GET',
    path: '/backups',
    id: 'listInstanceBackups',
    scope: 'instances:read',
    summary: 'List what is known of the backups of each instance',
    parameters: ['Fields'],
    answers: { 200: jsonAnswer('What is known.', schemaReference('OperatorBackups')) },
    handle: async (context) => {
      const { operator } = context;
      return context.answer(JSON.stringify(await readBackups(operator, operator.directory.all())));
    },
  }),
  operatorRoute({
    ...common,
    method: 'GET',
    path: '/instances/:instance/backups',
    id: 'getInstanceBackups',
    scope: 'instances:read',
    summary: 'Get what is known of the backups of an instance',
    parameters: ['ManagedInstance', 'Fields'],
    answers: { 200: jsonAnswer('What is known.', schemaReference('OperatorBackup')) },
    handle: async (context) => {
      const { operator, params } = context;
      const entry = await entryOf(operator, await findServed(operator, params.instance));
      const { items } = await readBackups(operator, [entry]);
      return context.answer(JSON.stringify(items[0]));
    },
  }),
  operatorRoute({
    ...common,
    method: 'POST',
    path: '/instances/:instance/backups',
    id: 'backUpInstance',
    scope: 'instances:write',
    summary: 'Back up an instance, where the schedule of the operator does, or where it keeps its own',
    description: 'Answers when the backup is stored. A client that goes away does not end it.',
    parameters: ['ManagedInstance'],
    answers: { 204: emptyAnswer('The backup is stored.') },
    refusals: [409, 413, 415, 507],
    handle: async ({ operator, params, actor, request }) => {
      await backUpInstance(operator, { name: params.instance, actor, isGone: request.isGone });
      return nothing;
    },
  }),
];

async function readBackups(
  { home, clock }: OperatorControl,
  entries: readonly InstanceEntry[],
): Promise<{ readonly cron: string; readonly next: string; readonly items: readonly object[] }> {
  const jobs = new JobStore(home.background, clock);
  const [done, ended, open, schedules] = await Promise.all([
    jobs.lastEnded('done'),
    jobs.lastEnded('any'),
    jobs.listOpen(),
    new ScheduleStore(home.background).list(),
  ]);
  const now = clock.now();
  const lastDone = byKey(done, ({ instance, kind }) => `${kind} ${instance}`);
  const lastEnded = byKey(ended, ({ instance }) => instance);
  const running = byKey(open, ({ instance }) => instance);
  const items = entries.map((entry) => {
    const { shownId, slug } = entry;
    const last = lastDone.get(`backup ${shownId}`);
    const failure = lastEnded.get(shownId);
    return {
      instance: shownId,
      slug,
      isOverdue: findBackupAge(entry, { schedules, now, last })?.isOverdue ?? false,
      running: jobJson(running.get(shownId)),
      lastBackup: jobJson(last),
      lastVerification: jobJson(lastDone.get(`verify ${shownId}`)),
      failure: failure?.state === 'failed' ? jobJson(failure) : null,
    };
  });
  const schedule = schedules.find(({ instance }) => instance === '');
  const next = schedule === undefined ? '' : toTimestamp(schedule.due);
  return { cron: schedule?.cron ?? '', next, items };
}

/** The newest job under each key. */
function byKey(
  jobs: readonly TransferJob[],
  keyOf: (job: TransferJob) => string,
): ReadonlyMap<string, TransferJob> {
  // The newest comes first, and the last one that is set stays.
  return new Map(jobs.toReversed().map((job) => [keyOf(job), job]));
}

const text: Schema = { type: 'string' };
const nullableJob: Schema = { oneOf: [schemaReference('BackupJob'), { type: 'null' }] };

export const operatorBackupSchemas: Readonly<Record<string, Schema>> = {
  OperatorBackups: objectSchema({
    cron: { ...text, description: 'The schedule of the operator; empty for none.' },
    next: { ...text, description: 'When it is due.' },
    items: { type: 'array', items: schemaReference('OperatorBackup') },
  }),
  OperatorBackup: objectSchema({
    instance: text,
    slug: text,
    isOverdue: {
      type: 'boolean',
      description: 'Whether the last backup is older than twice the interval of the schedule.',
    },
    running: nullableJob,
    lastBackup: nullableJob,
    lastVerification: nullableJob,
    failure: { ...nullableJob, description: 'The last job, where that failed.' },
  }),
};
