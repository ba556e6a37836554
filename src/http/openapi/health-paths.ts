import { exhaustedCountMax } from '../../webhooks/deliveries.ts';
import type { Paths, Schema } from './document.ts';
import { objectSchema } from './object-schema.ts';
import { jsonAnswer, operation } from './operation.ts';
import { reference, schemaReference } from './reference.ts';

const tag = 'health';
const healthy = schemaReference('Health');

/** Whether the service is well. */
export const healthPaths: Paths = {
  '/api/health': {
    get: operation({
      id: 'health',
      tag,
      summary: 'Whether the instance is served; superusers are told more',
      parameters: ['Fields'],
      answers: { 200: jsonAnswer('It is.', healthy) },
    }),
  },
  '/api/health/live': {
    get: operation({
      id: 'live',
      tag,
      summary: 'Whether the process is alive',
      parameters: ['Fields'],
      answers: { 200: jsonAnswer('It is.', healthy) },
    }),
  },
  '/api/health/ready': {
    get: {
      ...operation({
        id: 'ready',
        tag,
        summary: 'Whether requests should be sent here',
        parameters: ['Fields'],
        answers: { 200: jsonAnswer('They should.', healthy) },
      }),
      ...readyResponses(),
    },
  },
};

/** The 503 of a readiness probe is an answer with its own body, not a refusal. */
function readyResponses(): { readonly responses: Readonly<Record<string, Schema>> } {
  return {
    responses: {
      200: jsonAnswer('They should.', healthy),
      400: reference('responses', 'BadRequest'),
      500: reference('responses', 'InternalError'),
      503: jsonAnswer('The service is stopping, or its database is away or cannot be written.', healthy, {
        'Retry-After': 'RetryAfter',
      }),
    },
  };
}

export const healthSchemas: Readonly<Record<string, Schema>> = {
  Health: objectSchema({
    code: { type: 'integer' },
    message: { type: 'string' },
    data: objectSchema(
      {
        engine: { enum: ['sqlite', 'postgres'] },
        version: { type: 'string' },
        instanceId: { type: 'string' },
        oldestUndeliveredSeconds: {
          type: 'integer',
          minimum: 0,
          description: 'The age of the oldest event that is still to be sent to an endpoint; 0 for none.',
        },
        exhaustedLastDay: {
          type: 'integer',
          minimum: 0,
          maximum: exhaustedCountMax,
          description: `The deliveries that were exhausted in the last 24 hours; ${exhaustedCountMax} means as many or more.`,
        },
        realIP: { type: 'string', description: 'Where this client is, as the service knows it.' },
        possibleProxyHeader: {
          type: 'string',
          description: 'What a proxy seems to write that is not trusted; empty for nothing.',
        },
      },
      [
        'engine',
        'version',
        'instanceId',
        'oldestUndeliveredSeconds',
        'exhaustedLastDay',
        'realIP',
        'possibleProxyHeader',
      ],
    ),
  }),
};
