import type { FastifyInstance, FastifyRequest } from 'fastify';
import { hasScope } from '../../access/caller.ts';
import { ipAddressText } from '../../base/ip-address.ts';
import { fromTimestamp, toTimestamp } from '../../base/timestamp.ts';
import type { Instance } from '../../instances/instance.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { countExhausted, exhaustedCountMax, readOldestPending } from '../../webhooks/deliveries.ts';
import { answer } from '../answer.ts';
import { findProxyHeader } from '../client-address.ts';
import { jsonAnswer, operation } from '../openapi/operation.ts';
import { objectSchema, type Paths, reference, type Schema, schemaReference } from '../openapi/schema.ts';
import { onInstance } from '../route.ts';

/** `stopping` once a stop has begun, `degraded` while the data cannot be written: a load balancer must then use another node. */
export type Readiness = 'ready' | 'stopping' | 'degraded';

export interface HealthOptions {
  readonly instances: OpenInstances;
  readonly version: string;
  readonly readiness: () => Readiness;
}

/** Whether the service is well: for people at /api/health, for probes at /live and /ready. */
export function healthRoutes(app: FastifyInstance, options: HealthOptions): void {
  const { instances } = options;
  app.get(
    '/api/health',
    onInstance(instances, async ({ instance, caller }, request, reply) => {
      const data =
        caller.kind === 'superuser' && hasScope(caller, 'admin')
          ? { ...(await detail(instance, options.version)), ...origin(instance, request) }
          : {};
      const json = JSON.stringify({ code: 200, message: 'API is healthy.', data });
      return answer(request, reply, { json });
    }),
  );

  app.get('/api/health/live', async (request, reply) => {
    return answer(request, reply, { json: '{"code":200,"message":"The service is alive.","data":{}}' });
  });

  app.get('/api/health/ready', async (request, reply) => {
    const readiness = options.readiness();
    const message = readinessMessages[readiness];
    if (readiness === 'ready')
      return answer(request, reply, { json: `{"code":200,"message":"${message}","data":{}}` });
    return answer(request, reply, {
      status: 503,
      json: `{"code":503,"message":"${message}","data":{}}`,
      headers: { 'retry-after': '1' },
    });
  });
}

const readinessMessages: Readonly<Record<Readiness, string>> = {
  ready: 'The service is ready.',
  stopping: 'The service is stopping.',
  degraded: 'The database is away or cannot be written.',
};

/** Returns what an operator needs to see whether the right proxies are trusted. */
function origin(instance: Instance, request: FastifyRequest): object {
  return {
    realIP: ipAddressText(request.server.admission.addressOf(instance, request)),
    possibleProxyHeader: findProxyHeader(request.headers) ?? '',
  };
}

const dayMs = 24 * 60 * 60_000;

async function detail({ database, id, dueClock }: Instance, version: string): Promise<object> {
  // The clock by which deliveries are settled.
  const now = dueClock.now();
  const [oldest, exhaustedLastDay] = await Promise.all([
    readOldestPending(database),
    countExhausted(database, toTimestamp(now - dayMs)),
  ]);
  const ageMs = oldest === undefined ? 0 : Math.max(0, now - fromTimestamp(oldest));
  return {
    engine: database.engine,
    version,
    instanceId: id,
    oldestUndeliveredSeconds: Math.floor(ageMs / 1000),
    exhaustedLastDay,
  };
}

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
