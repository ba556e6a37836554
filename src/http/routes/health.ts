import { hasScope } from '../../access/caller.ts';
import { ipAddressText } from '../../base/ip-address.ts';
import { fromTimestamp, toTimestamp } from '../../base/timestamp.ts';
import type { Instance } from '../../instances/instance.ts';
import { readQuotaUse } from '../../instances/quota-use.ts';
import { countExhausted, exhaustedCountMax, readOldestPending } from '../../deliveries/log/count-waiting.ts';
import { findProxyHeader } from '../client-address.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { storageFaults } from '../../storage/storage-health.ts';
import type { Readiness, RequestContext } from '../request-context.ts';
import { suspendedText } from '../../instances/instance-rows.ts';
import { route, serviceRoute } from '../route.ts';

const common = { method: 'GET', tag: 'health', parameters: ['Fields'] } as const;
const healthy = schemaReference('Health');

/** Whether the service is well: for people at /api/health, for probes at /live and /ready. */
export const healthRoutes = [
  route({
    ...common,
    path: '/api/health',
    id: 'health',
    scope: 'any',
    summary: 'Check the instance; superusers get details',
    answers: { 200: jsonAnswer('It is, or it is suspended.', healthy) },
    handleSuspended: (context) =>
      context.answer(JSON.stringify({ code: 200, message: suspendedText, data: { suspended: true } })),
    handle: async (context) => {
      const { caller } = context;
      const isDetailed = caller.kind === 'superuser' && hasScope(caller, 'admin');
      const data = isDetailed ? await details(context) : {};
      return context.answer(JSON.stringify({ code: 200, message: 'API is healthy.', data }));
    },
  }),
  serviceRoute({
    ...common,
    path: '/api/health/live',
    id: 'live',
    summary: 'Liveness probe',
    answers: { 200: jsonAnswer('It is.', healthy) },
    handle: (context) => context.answer('{"code":200,"message":"The service is alive.","data":{}}'),
  }),
  serviceRoute({
    ...common,
    path: '/api/health/ready',
    id: 'ready',
    summary: 'Readiness probe',
    answers: {
      200: jsonAnswer('The service is ready for requests.', healthy),
      // An answer with its own body, not a refusal.
      503: jsonAnswer('The service is stopping, or its data is not usable.', healthy, {
        'Retry-After': 'RetryAfter',
      }),
    },
    handle: (context) => {
      const readiness = context.services.readiness(context.instanceId);
      const status = readiness === 'ready' ? 200 : 503;
      const { upgradesLeft } = context.services.directory;
      const data = status === 503 ? { reason: readiness } : upgradesLeft > 0 ? { upgradesLeft } : {};
      const json = JSON.stringify({ code: status, message: readinessMessages[readiness], data });
      return context.answer(json, { status, ...(status === 503 && { headers: { 'retry-after': '1' } }) });
    },
  }),
];

const readinessMessages: Readonly<Record<Readiness, string>> = {
  ready: 'The service is ready.',
  stopping: 'The service is stopping.',
  outdated: 'A newer version has changed the data: this process is to be replaced.',
  disk: 'The disk is full or cannot be written.',
  damage: 'Some of the stored data is damaged.',
  unavailable: 'The database is away.',
};

/** Returns what only superusers are shown. */
async function details(context: RequestContext): Promise<object> {
  const { services, instance } = context;
  const [ofInstance, ofBackups] = await Promise.all([
    detail(instance, services.version),
    backupDetail(context),
  ]);
  return { ...ofInstance, ...ofBackups, ...origin(context), warnings: services.warnings(instance) };
}

/** Returns what an operator needs to see whether the right proxies are trusted. */
function origin({ request, address }: RequestContext): object {
  return {
    realIP: ipAddressText(address),
    possibleProxyHeader: findProxyHeader(request.headers) ?? '',
  };
}

/** Whether a backup can be made now, and what is known of the last ones. */
async function backupDetail({ services, instance }: RequestContext): Promise<object> {
  const { open, lastBackup, lastVerification, failure } = await services.backups.status(instance);
  const ended = lastBackup?.ended ?? '';
  const started = lastBackup?.started ?? '';
  return {
    canBackup: open === undefined,
    backup: {
      last: ended,
      bytes: lastBackup?.bytes ?? 0,
      seconds: ended === '' ? 0 : Math.round((fromTimestamp(ended) - fromTimestamp(started)) / 1_000),
      verified: lastVerification?.ended ?? '',
      failure: failure?.message ?? '',
    },
  };
}

const dayMs = 24 * 60 * 60_000;

async function detail(instance: Instance, version: string): Promise<object> {
  const { database, shownId, dueClock } = instance;
  // The clock by which deliveries are settled.
  const now = dueClock.now();
  const [oldest, exhaustedLastDay] = await Promise.all([
    readOldestPending(database),
    countExhausted(database, toTimestamp(now - dayMs)),
  ]);
  const uses = await readQuotaUse(instance);
  const quotas = uses.map(({ name, used, max }) => [name, { used, max }] as const);
  const ageMs = oldest === undefined ? 0 : Math.max(0, now - fromTimestamp(oldest));
  return {
    engine: database.engine,
    version,
    instanceId: shownId,
    oldestUndeliveredSeconds: Math.floor(ageMs / 1000),
    exhaustedLastDay,
    ...(quotas.length > 0 && { quotas: Object.fromEntries(quotas) }),
  };
}

export const healthSchemas: Readonly<Record<string, Schema>> = {
  Health: objectSchema({
    code: { type: 'integer' },
    message: { type: 'string' },
    data: objectSchema(
      {
        reason: {
          type: 'string',
          enum: ['stopping', 'outdated', 'upgrade', ...storageFaults],
          description: 'Why the service is not ready.',
        },
        upgradesLeft: {
          type: 'integer',
          minimum: 1,
          description:
            'How many instances this version has still to upgrade; absent if there are none. They are upgraded while the service is ready.',
        },
        suspended: {
          type: 'boolean',
          description: 'The operator has suspended the instance: every other route answers 403.',
        },
        engine: { type: 'string', enum: ['sqlite', 'postgres'] },
        version: { type: 'string' },
        instanceId: { type: 'string' },
        oldestUndeliveredSeconds: {
          type: 'integer',
          minimum: 0,
          description: 'Age of the oldest event with a pending delivery; 0 if there is none.',
        },
        exhaustedLastDay: {
          type: 'integer',
          minimum: 0,
          maximum: exhaustedCountMax,
          description: `The deliveries that were exhausted in the last 24 hours; ${exhaustedCountMax} means as many or more.`,
        },
        canBackup: { type: 'boolean', description: 'Whether no backup or restore of the instance runs.' },
        backup: objectSchema({
          last: { type: 'string', description: 'When the last backup was made; empty for none.' },
          bytes: { type: 'integer', minimum: 0, description: 'Its size.' },
          seconds: { type: 'integer', minimum: 0, description: 'How long it took.' },
          verified: { type: 'string', description: 'When a backup was last verified; empty for never.' },
          failure: { type: 'string', description: 'Why the last job failed; empty unless it did.' },
        }),
        quotas: {
          type: 'object',
          additionalProperties: objectSchema({ used: { type: 'integer' }, max: { type: 'integer' } }),
          description: 'What is used of each quota of the instance; absent if it has none.',
        },
        realIP: { type: 'string', description: 'The address of this client, as the service sees it.' },
        possibleProxyHeader: {
          type: 'string',
          description: 'The header that an untrusted proxy seems to set; empty if there is none.',
        },
        warnings: {
          type: 'array',
          items: { type: 'string' },
          description: 'Warnings for the operator.',
        },
      },
      [
        'reason',
        'upgradesLeft',
        'suspended',
        'engine',
        'version',
        'instanceId',
        'oldestUndeliveredSeconds',
        'exhaustedLastDay',
        'canBackup',
        'backup',
        'quotas',
        'realIP',
        'possibleProxyHeader',
        'warnings',
      ],
    ),
  }),
};
