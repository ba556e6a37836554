import { nothing } from '../answer.ts';
import { route } from '../route.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';

const common = { tag: 'crons', isForSuperusers: true } as const;

/** Scheduled jobs of an instance. */
export const cronRoutes = [
  route({
    ...common,
    method: 'GET',
    path: '/api/crons',
    id: 'listCrons',
    summary: 'List the scheduled jobs',
    isCurrent: true,
    parameters: ['Fields'],
    answers: { 200: jsonAnswer('The jobs.', { type: 'array', items: schemaReference('Cron') }) },
    handle: (context) => context.answer(JSON.stringify(context.services.crons.list(context.instance))),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/api/crons/:id',
    id: 'runCron',
    summary: 'Run a scheduled job now',
    description: 'Answers when it has begun. A job that is already running is refused with a 400.',
    isCurrent: true,
    parameters: ['CronId'],
    answers: { 204: emptyAnswer('It has begun.') },
    handle: async ({ services, instance, params, input }) => {
      await services.crons.run(instance, input, params.id);
      instance.audit.note(input, { action: 'cron.run', target: params.id });
      return nothing;
    },
  }),
];

export const cronSchemas: Readonly<Record<string, Schema>> = {
  Cron: objectSchema({
    id: { type: 'string' },
    expression: { type: 'string', description: 'When it runs, in UTC: minute, hour, day, month, weekday.' },
  }),
};
