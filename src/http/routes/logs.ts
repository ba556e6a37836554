import type { FastifyInstance } from 'fastify';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { countLogs, getLog, listLogs } from '../../logs/list-logs.ts';
import { parseListQuery } from '../../query/list-query.ts';
import { listJson } from '../../query/run-list.ts';
import { answer, answerNothing } from '../answer.ts';
import {
  emptyAnswer,
  jsonAnswer,
  listParameters,
  operation,
  type OperationParts,
} from '../openapi/operation.ts';
import {
  listSchema,
  objectSchema,
  type Operation,
  type Paths,
  type Schema,
  schemaReference,
} from '../openapi/schema.ts';
import { queryOf } from '../request.ts';
import { onInstanceAsSuperuser } from '../route.ts';

interface LogPath {
  Params: { id: string };
}

/** The log of the instance's requests, for superusers. */
export function logRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.get(
    '/api/logs',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const query = parseListQuery(queryOf(request));
      const reading = { database: await instance.logs.table(), now: instance.clock.now() };
      const page = await listLogs(reading, query);
      const items = page.items.map((entry) => JSON.stringify(entry));
      return answer(request, reply, { json: listJson(page, items), isList: true });
    }),
  );

  app.get(
    '/api/logs/stats',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const reading = { database: await instance.logs.table(), now: instance.clock.now() };
      const counts = await countLogs(reading, queryOf(request).get('filter'));
      return answer(request, reply, { json: JSON.stringify(counts) });
    }),
  );

  app.get<LogPath>(
    '/api/logs/:id',
    onInstanceAsSuperuser<LogPath>(instances, async ({ instance }, request, reply) => {
      const entry = await getLog(await instance.logs.table(), request.params.id);
      return answer(request, reply, { json: JSON.stringify(entry) });
    }),
  );

  app.delete(
    '/api/logs',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      await instance.logs.clear();
      return answerNothing(request, reply);
    }),
  );
}

/** The log of an instance's requests, for superusers. */
export const logPaths: Paths = {
  '/api/logs': {
    get: ours({
      id: 'listLogs',
      summary: 'A page of the log of requests',
      description:
        'Filter and sort know `id`, `created`, `level`, `message`, and what is in `data`: `data.status`.',
      parameters: listParameters,
      answers: { 200: jsonAnswer('The entries.', schemaReference('LogList')) },
    }),
    delete: ours({
      id: 'truncateLogs',
      summary: 'Forget all entries',
      answers: { 204: emptyAnswer('They are gone.') },
      refusals: [413, 415, 507],
    }),
  },
  '/api/logs/stats': {
    get: ours({
      id: 'countLogs',
      summary: 'How many entries each hour has that has any',
      parameters: ['Filter', 'Fields'],
      answers: {
        200: jsonAnswer('The hours, oldest first.', { type: 'array', items: schemaReference('LogCount') }),
      },
    }),
  },
  '/api/logs/{id}': {
    get: ours({
      id: 'getLog',
      summary: 'An entry of the log',
      parameters: ['LogId', 'Fields'],
      answers: { 200: jsonAnswer('The entry.', schemaReference('Log')) },
    }),
  },
};

function ours(parts: Omit<OperationParts, 'tag' | 'isForSuperusers'>): Operation {
  return operation({ ...parts, tag: 'logs', isForSuperusers: true });
}

const text: Schema = { type: 'string' };

export const logSchemas: Readonly<Record<string, Schema>> = {
  Log: objectSchema({
    id: text,
    created: { type: 'string', description: 'When it was answered.' },
    data: {
      type: 'object',
      additionalProperties: true,
      description:
        'Of a request: `auth` (a collection), `execTime` (milliseconds), `method`, `status`, `url` and more.',
    },
    message: text,
    level: { type: 'integer', description: '0 answered, 4 refused, 8 failed.' },
  }),
  LogList: listSchema(schemaReference('Log')),
  LogCount: objectSchema({
    date: { type: 'string', description: 'The beginning of the hour.' },
    total: { type: 'integer', minimum: 1 },
  }),
};
