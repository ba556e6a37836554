import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ipAddressText } from '../../base/ip-address.ts';
import { fromTimestamp, toTimestamp } from '../../base/timestamp.ts';
import type { Instance } from '../../instances/instance.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { hasScope } from '../../rules/has-scope.ts';
import { countExhausted, readOldestPending } from '../../webhooks/deliveries.ts';
import { answer } from '../answer.ts';
import { onInstance } from '../on-instance.ts';
import { findProxyHeader } from '../find-proxy-header.ts';

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
