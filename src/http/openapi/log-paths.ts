import type { Operation, Paths, Schema } from './document.ts';
import { listSchema } from './list-schema.ts';
import { objectSchema } from './object-schema.ts';
import { emptyAnswer, jsonAnswer, operation, type OperationParts } from './operation.ts';
import { listParameters } from './parameters.ts';
import { schemaReference } from './reference.ts';

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
