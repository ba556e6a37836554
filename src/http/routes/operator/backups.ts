import { JobStore, type TransferJob } from '../../../backups/job-store.ts';
import { ScheduleStore } from '../../../backups/schedule-store.ts';
import { toTimestamp } from '../../../base/timestamp.ts';
import { backUpInstance } from '../../../operator/instance-transfers.ts';
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
    handle: async (context) => context.answer(JSON.stringify(await readBackups(context.operator))),
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

async function readBackups({ home, directory, clock }: OperatorControl): Promise<object> {
  const jobs = new JobStore(home.background, clock);
  const [done, ended, open, schedule] = await Promise.all([
    jobs.lastEnded('done'),
    jobs.lastEnded('any'),
    jobs.listOpen(),
    new ScheduleStore(home.background).find(''),
  ]);
  const items = directory.all().map(({ shownId, slug }) => {
    const of = (list: readonly TransferJob[], kind?: TransferJob['kind']): object | null =>
      jobJson(list.find((job) => job.instance === shownId && (kind === undefined || job.kind === kind)));
    const last = ended.find(({ instance }) => instance === shownId);
    return {
      instance: shownId,
      slug,
      running: of(open),
      lastBackup: of(done, 'backup'),
      lastVerification: of(done, 'verify'),
      failure: last?.state === 'failed' ? jobJson(last) : null,
    };
  });
  const next = schedule === undefined ? '' : toTimestamp(schedule.due);
  return { cron: schedule?.cron ?? '', next, items };
}

const text: Schema = { type: 'string' };
const nullableJob: Schema = { oneOf: [schemaReference('BackupJob'), { type: 'null' }] };

export const operatorBackupSchemas: Readonly<Record<string, Schema>> = {
  OperatorBackups: objectSchema({
    cron: { ...text, description: 'The schedule of the operator; empty for none.' },
    next: { ...text, description: 'When it is due.' },
    items: {
      type: 'array',
      items: objectSchema({
        instance: text,
        slug: text,
        running: nullableJob,
        lastBackup: nullableJob,
        lastVerification: nullableJob,
        failure: { ...nullableJob, description: 'The last job, where that failed.' },
      }),
    },
  }),
};
