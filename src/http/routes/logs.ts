import type { Instance } from '../../instances/instance.ts';
import { countLogs, getLog, listLogs, type LogReading } from '../../logs/list-logs.ts';
import { nothing } from '../answer.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { listParameters } from '../schemas/parameters.ts';
import { listSchema, objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

const common = { tag: 'logs', isForSuperusers: true } as const;

/** The log of an instance's requests, for superusers. */
export const logRoutes = [
  route({
    ...common,
    method: 'GET',
    path: '/api/logs',
    id: 'listLogs',
    summary: 'List the entries of the request log',
    description:
      'Filter and sort by `id`, `created`, `level`, `message` and members of `data`, such as `data.status`.',
    parameters: listParameters,
    answers: { 200: jsonAnswer('The entries.', schemaReference('LogList')) },
    handle: async (context) => {
      const query = context.listQuery;
      return context.answerList(await listLogs(await readingOf(context.instance), query));
    },
  }),
  route({
    ...common,
    method: 'DELETE',
    path: '/api/logs',
    id: 'truncateLogs',
    summary: 'Delete all entries of the request log',
    answers: { 204: emptyAnswer('The entries are deleted.') },
    refusals: [413, 415, 507],
    handle: async ({ instance }) => {
      await instance.logs.clear();
      return nothing;
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/api/logs/stats',
    id: 'countLogs',
    summary: 'Count the entries of each hour, with the duration of the requests',
    parameters: ['Filter', 'Fields'],
    answers: {
      200: jsonAnswer('The hours, oldest first.', { type: 'array', items: schemaReference('LogCount') }),
    },
    handle: async (context) => {
      const counts = await countLogs(await readingOf(context.instance), context.query.get('filter'));
      return context.answer(JSON.stringify(counts));
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/api/logs/:id',
    id: 'getLog',
    summary: 'Get an entry of the request log',
    parameters: ['LogId', 'Fields'],
    answers: { 200: jsonAnswer('The entry.', schemaReference('Log')) },
    handle: async (context) => {
      const entry = await getLog(await context.instance.logs.table(), context.params.id);
      return context.answer(JSON.stringify(entry));
    },
  }),
];

async function readingOf({ logs, clock }: Instance): Promise<LogReading> {
  return { database: await logs.table(), now: clock.now() };
}

const text: Schema = { type: 'string' };

export const logSchemas: Readonly<Record<string, Schema>> = {
  Log: objectSchema({
    id: text,
    created: { type: 'string', description: 'The time of the answer.' },
    data: {
      type: 'object',
      additionalProperties: true,
      description:
        'For a request: `auth` (a collection), `execTime` (milliseconds), `method`, `status`, `url` and more.',
    },
    message: text,
    level: { type: 'integer', description: '0: answered, 4: rejected, 8: failed.' },
  }),
  LogList: listSchema(schemaReference('Log')),
  LogCount: objectSchema({
    date: { type: 'string', description: 'The start of the hour.' },
    total: { type: 'integer', minimum: 1 },
    refused: { type: 'integer', minimum: 0, description: 'Entries of level 4.' },
    failed: { type: 'integer', minimum: 0, description: 'Entries of level 8.' },
    execTimeP95: {
      type: ['number', 'null'],
      description:
        'The 95th percentile of the request durations, in milliseconds. Null if none of the entries is a request.',
    },
  }),
};
