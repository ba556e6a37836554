import { reachedEndpoints } from '../../access/caller.ts';
import { assert } from '../../base/assert.ts';
import { AppError } from '../../base/errors.ts';
import { invalidValue } from '../../fields/field-error.ts';
import { changedPaths } from '../../logs/audit-entry.ts';
import { readTestEvent } from '../../records/read-test-event.ts';
import { testEndpoint } from '../../dispatch/test-endpoint.ts';
import {
  type Backlog,
  backlogs,
  createEndpoint,
  deleteEndpoint,
  type EndpointSaving,
  rotateSecret,
  setEndpointStatus,
  updateEndpoint,
} from '../../deliveries/endpoints/change-endpoint.ts';
import { requestReconcile } from '../../deliveries/endpoints/request-replay.ts';
import { listedEndpointStats } from '../../deliveries/endpoints/listed-endpoint-stats.ts';
import { hasNeverMatched, neverMatchedWarning } from '../../deliveries/log/endpoint-matches.ts';
import { checkEndpoint } from '../../deliveries/endpoints/check-endpoint.ts';
import { listEndpoints, readEndpoint } from '../../endpoints/endpoint-store.ts';
import { filterWarnings } from '../../endpoints/filter-warnings.ts';
import { type Endpoint, endpointView } from '../../endpoints/endpoint.ts';
import { parameterError } from '../../query/list-parameters.ts';
import { certificateWarnings } from '../../sending/client-certificate.ts';
import { secretWarnings } from '../../sending/signature.ts';
import { nothing, notStored } from '../answer.ts';
import { isFromOperator } from '../client-address.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { listParameters } from '../schemas/parameters.ts';
import { objectSchema, schemaReference } from '../schemas/schema.ts';
import type { Loan } from '../../instances/open-instances.ts';
import type { RequestContext } from '../request-context.ts';
import { route } from '../route.ts';
import { traceOf } from '../rule-input.ts';

const common = { tag: 'webhooks', isForSuperusers: true } as const;
const onOne = {
  ...common,
  endpointKeys: 'endpoint',
  parameters: ['EndpointId', 'Fields'],
  answers: { 200: jsonAnswer('The endpoint.', schemaReference('Endpoint')) },
} as const;
const action = {
  ...onOne,
  method: 'POST',
  scope: 'webhooks:write',
  refusals: [409, 413, 415, 507],
} as const;

/** Endpoints, which say where webhooks go, for superusers. */
export const endpointRoutes = [
  route({
    ...common,
    method: 'GET',
    path: '/api/webhooks/endpoints',
    id: 'listEndpoints',
    scope: 'webhooks:read',
    endpointKeys: 'narrowed',
    summary: 'List endpoints',
    parameters: [...listParameters, 'EndpointInclude'],
    answers: { 200: jsonAnswer('The endpoints.', schemaReference('EndpointList')) },
    handle: async (context) => {
      const { instance, listQuery, caller, query } = context;
      const include = query.get('include') ?? '';
      if (include !== '' && include !== 'stats')
        throw parameterError('include', 'Expected include to be stats.');
      const page = await listEndpoints(instance, listQuery, caller);
      if (include === '') return context.answerList(page, toJson);
      const stats = await listedEndpointStats(instance, page.items);
      return context.answerList(page, (endpoint) =>
        JSON.stringify({ ...endpointView(endpoint), stats: stats.get(endpoint.number) }),
      );
    },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/api/webhooks/endpoints',
    id: 'createEndpoint',
    owners: 'narrowed',
    scope: 'webhooks:write',
    summary: 'Create an endpoint',
    parameters: ['Fields'],
    body: schemaReference('EndpointCreate'),
    answers: { 201: jsonAnswer('The endpoint, with its secret.', schemaReference('EndpointWithSecret')) },
    refusals: [409, 507],
    handle: async (context) => {
      const endpoint = await createEndpoint(savingOf(context), context.body, context.services.policy);
      if (endpoint.transitions) context.services.dispatcher.wake(context.instance.id);
      verifySoon(context, [endpoint]);
      // Apart from the secret's own route, no other answer shows it.
      const { secret } = endpoint;
      const warnings = [...secretWarnings(secret), ...warningsOf(context, endpoint)];
      const json = JSON.stringify({ ...endpointView(endpoint), secret, warnings });
      return context.answer(json, { status: 201, headers: notStored });
    },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/api/webhooks/endpoints/check',
    id: 'checkEndpoint',
    // It changes nothing.
    scope: 'webhooks:read',
    endpointKeys: 'narrowed',
    summary: 'Validate an endpoint and preview its events',
    description: 'Opens no connection and stores nothing.',
    parameters: ['Fields'],
    body: schemaReference('EndpointDraft'),
    answers: { 200: jsonAnswer('The result of the check.', schemaReference('EndpointCheck')) },
    handle: async (context) => {
      const { services, body } = context;
      return context.answer(JSON.stringify(await checkEndpoint(savingOf(context), body, services.policy)));
    },
  }),
  route({
    ...onOne,
    method: 'GET',
    path: '/api/webhooks/endpoints/:id',
    id: 'getEndpoint',
    scope: 'webhooks:read',
    summary: 'Get an endpoint',
    answers: { 200: jsonAnswer('The endpoint.', schemaReference('EndpointWithWarnings')) },
    handle: async (context) => {
      const { instance, params } = context;
      const endpoint = await readEndpoint(instance, params.id);
      const isDoubtful = await hasNeverMatched(instance.database, endpoint, instance.clock.now());
      const warnings = [...warningsOf(context, endpoint), ...(isDoubtful ? [neverMatchedWarning] : [])];
      return context.answer(withWarnings(endpoint, warnings));
    },
  }),
  route({
    ...onOne,
    method: 'PATCH',
    path: '/api/webhooks/endpoints/:id',
    id: 'updateEndpoint',
    scope: 'webhooks:write',
    summary: 'Update an endpoint',
    body: schemaReference('EndpointUpdate'),
    isBodyOptional: true,
    answers: { 200: jsonAnswer('The endpoint.', schemaReference('EndpointWithWarnings')) },
    refusals: [409, 507],
    handle: async (context) => {
      const { services, instance } = context;
      const change = { id: context.params.id, body: context.body };
      const endpoint = await updateEndpoint(savingOf(context), change, services.policy);
      services.dispatcher.wake(instance.id);
      verifySoon(context, [endpoint]);
      return context.answer(withWarnings(endpoint, warningsOf(context, endpoint)));
    },
  }),
  route({
    ...common,
    method: 'DELETE',
    path: '/api/webhooks/endpoints/:id',
    id: 'deleteEndpoint',
    owners: 'endpoint',
    scope: 'webhooks:write',
    summary: 'Delete an endpoint and cancel its pending deliveries',
    parameters: ['EndpointId'],
    answers: { 204: emptyAnswer('The endpoint is deleted.') },
    refusals: [409, 413, 415, 507],
    handle: async (context) => {
      await deleteEndpoint(savingOf(context), context.params.id);
      return nothing;
    },
  }),
  route({
    ...onOne,
    method: 'GET',
    path: '/api/webhooks/endpoints/:id/secret',
    id: 'getEndpointSecret',
    // It signs webhooks: its holder can send some in the name of the service.
    scope: 'webhooks:write',
    summary: 'Get the signing secret of an endpoint',
    answers: { 200: jsonAnswer('The secret.', schemaReference('EndpointSecret')) },
    handle: async (context) => {
      const { instance, input } = context;
      const { id } = context.params;
      const { secret } = await readEndpoint(instance, id);
      // Audited before the secret is shown.
      await instance.database.write((tx) =>
        instance.audit.append(tx, input, { action: 'endpoint.secret', target: id }),
      );
      return context.answer(JSON.stringify({ secret }), { headers: notStored });
    },
  }),
  route({
    ...action,
    path: '/api/webhooks/endpoints/:id/secret/rotate',
    id: 'rotateEndpointSecret',
    summary: 'Rotate the secret of an endpoint; the previous one also signs for a while',
    body: schemaReference('EndpointSecretRotation'),
    isBodyOptional: true,
    answers: { 200: jsonAnswer('The new secret.', schemaReference('EndpointSecretRotated')) },
    handle: async (context) => {
      const rotation = { id: context.params.id, body: context.body };
      const { secret, previousSecretUntil } = await rotateSecret(savingOf(context), rotation);
      context.services.dispatcher.wake(context.instance.id);
      const json = JSON.stringify({ secret, previousSecretUntil, warnings: secretWarnings(secret) });
      return context.answer(json, { headers: notStored });
    },
  }),
  route({
    ...action,
    path: '/api/webhooks/endpoints/:id/pause',
    id: 'pauseEndpoint',
    summary: 'Pause an endpoint; deliveries queue up until it is resumed',
    handle: async (context) =>
      context.answer(toJson(await setEndpointStatus(savingOf(context), context.params.id, 'paused'))),
  }),
  route({
    ...action,
    path: '/api/webhooks/endpoints/:id/resume',
    id: 'resumeEndpoint',
    summary: 'Resume an endpoint; queued deliveries go first, last or not at all',
    body: objectSchema({ backlog: { type: 'string', enum: backlogs } }, ['backlog']),
    isBodyOptional: true,
    handle: async (context) => {
      const to = decodeBacklog(context.body);
      const endpoint = await setEndpointStatus(savingOf(context), context.params.id, to);
      context.services.dispatcher.wake(context.instance.id);
      verifySoon(context, [endpoint]);
      return context.answer(toJson(endpoint));
    },
  }),
  route({
    ...action,
    path: '/api/webhooks/endpoints/:id/verify',
    id: 'verifyEndpoint',
    summary: "Ask the receiver of an account's endpoint whether it wants webhooks",
    description:
      'Sends a challenge and waits up to 10 seconds for the answer. `status` and `statusReason` show the outcome. Nothing is sent if the endpoint needs no confirmation.',
    handle: async (context) => {
      const { verifications } = context.services.dispatcher;
      return context.answer(toJson(await verifications.verify(context.instance, context.params.id)));
    },
  }),
  route({
    ...action,
    path: '/api/webhooks/endpoints/:id/reconcile',
    id: 'reconcileEndpoint',
    summary:
      'Reconcile an endpoint with transitions: send the difference between what it holds and what matches',
    handle: async (context) => {
      const endpoint = await requestReconcile(savingOf(context), context.params.id);
      context.services.dispatcher.wake(context.instance.id);
      return context.answer(toJson(endpoint));
    },
  }),
  route({
    ...action,
    path: '/api/webhooks/endpoints/:id/test',
    id: 'testEndpoint',
    summary: 'Send a test event: `ping`, or a record in its current state',
    description:
      'A record is sent like a change of it, with the header `X-Service-Test: true`, only to this endpoint. An API key also needs `records:read` for its collection.',
    body: schemaReference('EndpointTest'),
    isBodyOptional: true,
    answers: { 200: jsonAnswer('The delivery with its attempt.', schemaReference('Delivery')) },
    handle: async (context) => {
      const { instance, input, params, body } = context;
      const record = await readTestEvent(instance, input, { endpoint: params.id, body });
      const { dispatcher } = context.services;
      const parts = {
        dispatcher,
        borrow: () => borrowInstance(context),
        trace: traceOf(context.request),
        record,
      };
      const delivery = await testEndpoint(instance, params.id, parts);
      return context.answer(JSON.stringify(delivery));
    },
  }),
];

function borrowInstance({
  services,
  instance,
}: Pick<RequestContext, 'services' | 'instance'>): Promise<Loan> {
  const entry = services.directory.find(instance.id);
  assert(entry, 'an open instance is in the directory');
  return services.instances.borrow(entry);
}

/** Has the receivers of endpoints asked that have just become unverified. Nobody waits for the answers. */
export function verifySoon(
  context: Pick<RequestContext, 'services' | 'instance'>,
  endpoints: readonly Pick<Endpoint, 'id' | 'status'>[],
): void {
  const ids = endpoints.flatMap(({ id, status }) => (status === 'unverified' ? [id] : []));
  if (ids.length > 0) context.services.dispatcher.verifications.begin(borrowInstance(context), ids);
}

function toJson(endpoint: Endpoint): string {
  return JSON.stringify(endpointView(endpoint));
}

function withWarnings(endpoint: Endpoint, warnings: readonly string[]): string {
  return JSON.stringify({ ...endpointView(endpoint), ...(warnings.length > 0 && { warnings }) });
}

/** Returns what of the filter of an endpoint is hardly meant, as far as the caller may name it, and whether its certificate ends soon. */
function warningsOf(
  { instance, caller }: Pick<RequestContext, 'instance' | 'caller'>,
  endpoint: Endpoint,
): readonly string[] {
  const { collections, database, clock } = instance;
  const now = clock.now();
  return [
    ...filterWarnings(endpoint, { collections, names: database.names, now, author: caller }),
    ...certificateWarnings(endpoint.clientCertificate, now),
  ];
}

/** Audits each change in its transaction. Only names of members are recorded, as headers and the query of a URL may be secret. */
export function savingOf({ instance, request, address, caller, input }: RequestContext): EndpointSaving {
  const { database, endpoints, clock, dueClock, collections, sealer, settings, quotas } = instance;
  return {
    database,
    settings,
    quotas,
    sealer,
    endpoints,
    clock,
    dueClock,
    collections,
    caller,
    isForOperator: reachedEndpoints(caller) === null && isFromOperator(instance, request.headers, address),
    onChange: async (tx, { before, after }) => {
      const action = actionOf(before, after);
      const host = new URL((after ?? before)?.url ?? '').host;
      const isUpdate = action === 'update' && before !== undefined && after !== undefined;
      const changed = isUpdate ? changedPaths(before, after).filter((path) => path !== 'updated') : [];
      await instance.audit.append(tx, input, {
        action: `endpoint.${action}`,
        target: (after ?? before)?.id ?? '',
        details: { host, ...(isUpdate && { changed }) },
      });
    },
    onRequest: (tx, entry) => instance.audit.append(tx, input, entry),
  };
}

function actionOf(
  before: Endpoint | undefined,
  after: Endpoint | undefined,
): 'create' | 'delete' | 'rotate' | 'update' {
  if (before === undefined) return 'create';
  if (after === undefined) return 'delete';
  return before.secret === after.secret ? 'update' : 'rotate';
}

function decodeBacklog({ backlog = 'drain' }: Readonly<Record<string, unknown>>): Backlog {
  const choice = backlogs.find((one) => one === backlog);
  if (choice !== undefined) return choice;
  throw new AppError('bad_request', 'Failed to resume endpoint.', {
    details: { backlog: invalidValue(`Must be one of ${backlogs.join(', ')}.`) },
  });
}
