import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller } from '../../access/caller.ts';
import { AppError } from '../../base/errors.ts';
import { recordEventKinds } from '../../events/event.ts';
import { invalidValue } from '../../fields/field-error.ts';
import type { Instance } from '../../instances/instance.ts';
import type { Loan, OpenInstances } from '../../instances/open-instances.ts';
import { changedPaths } from '../../logs/audit-entry.ts';
import { auditLogOf } from '../../logs/audit-log.ts';
import type { NetworkPolicy } from '../../network/address-guard.ts';
import { parseListQuery } from '../../query/list-query.ts';
import { listJson } from '../../query/run-list.ts';
import { testEndpoint } from '../../webhooks/delivery-log.ts';
import type { Dispatcher } from '../../webhooks/dispatcher.ts';
import {
  createEndpoint,
  deleteEndpoint,
  type EndpointSaving,
  setEndpointStatus,
  updateEndpoint,
} from '../../webhooks/endpoints/change-endpoint.ts';
import { listEndpoints, readEndpoint } from '../../webhooks/endpoints/endpoint-store.ts';
import { endpointLimits, endpointView } from '../../webhooks/endpoints/endpoint.ts';
import { secretWarnings } from '../../webhooks/sending/signature.ts';
import { answer, answerNothing } from '../answer.ts';
import { bodyOf } from '../body.ts';
import { isFromOperator } from '../client-address.ts';
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
import { ruleInput } from '../rule-input.ts';

interface EndpointPath {
  Params: { id: string };
}

export interface EndpointRoutesOptions {
  readonly instances: OpenInstances;
  readonly policy: NetworkPolicy;
  readonly dispatcher: Dispatcher;
  readonly borrow: (instanceId: string) => Promise<Loan>;
}

/** Endpoints, which say where webhooks go, for superusers. */
export function endpointRoutes(app: FastifyInstance, options: EndpointRoutesOptions): void {
  const { instances, policy, dispatcher } = options;

  app.get(
    '/api/webhooks/endpoints',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const page = await listEndpoints(instance, parseListQuery(queryOf(request)));
      const items = page.items.map((endpoint) => JSON.stringify(endpointView(endpoint)));
      return answer(request, reply, { json: listJson(page, items), isList: true });
    }),
  );

  app.post(
    '/api/webhooks/endpoints',
    onInstanceAsSuperuser(instances, async ({ instance, caller }, request, reply) => {
      const saving = savingOf({ instance, caller }, request);
      const endpoint = await createEndpoint(saving, bodyOf(request), policy);
      // Apart from the secret's own route, no other answer shows it.
      const { secret } = endpoint;
      const json = JSON.stringify({ ...endpointView(endpoint), secret, warnings: secretWarnings(secret) });
      return answer(request, reply, { status: 201, json, headers: { 'cache-control': 'no-store' } });
    }),
  );

  app.get<EndpointPath>(
    '/api/webhooks/endpoints/:id',
    onInstanceAsSuperuser<EndpointPath>(instances, async ({ instance }, request, reply) => {
      const endpoint = await readEndpoint(instance, request.params.id);
      return answer(request, reply, { json: JSON.stringify(endpointView(endpoint)) });
    }),
  );

  app.get<EndpointPath>(
    '/api/webhooks/endpoints/:id/secret',
    onInstanceAsSuperuser<EndpointPath>(instances, async ({ instance, caller }, request, reply) => {
      const { id } = request.params;
      const { secret } = await readEndpoint(instance, id);
      const facts = ruleInput(request, caller);
      // Audited before the secret is shown.
      await instance.database.write((tx) =>
        auditLogOf(instance).append(tx, facts, { action: 'endpoint.secret', target: id }),
      );
      return answer(request, reply, {
        json: JSON.stringify({ secret }),
        headers: { 'cache-control': 'no-store' },
      });
    }),
  );

  app.patch<EndpointPath>(
    '/api/webhooks/endpoints/:id',
    onInstanceAsSuperuser<EndpointPath>(instances, async ({ instance, caller }, request, reply) => {
      const saving = savingOf({ instance, caller }, request);
      const change = { id: request.params.id, body: bodyOf(request) };
      const endpoint = await updateEndpoint(saving, change, policy);
      dispatcher.wake(instance.id);
      return answer(request, reply, { json: JSON.stringify(endpointView(endpoint)) });
    }),
  );

  app.delete<EndpointPath>(
    '/api/webhooks/endpoints/:id',
    onInstanceAsSuperuser<EndpointPath>(instances, async ({ instance, caller }, request, reply) => {
      await deleteEndpoint(savingOf({ instance, caller }, request), request.params.id);
      return answerNothing(request, reply);
    }),
  );
  endpointActionRoutes(app, options);
}

function endpointActionRoutes(app: FastifyInstance, options: EndpointRoutesOptions): void {
  const { instances, dispatcher } = options;

  app.post<EndpointPath>(
    '/api/webhooks/endpoints/:id/pause',
    onInstanceAsSuperuser<EndpointPath>(instances, async ({ instance, caller }, request, reply) => {
      const saving = savingOf({ instance, caller }, request);
      const endpoint = await setEndpointStatus(saving, request.params.id, 'paused');
      return answer(request, reply, { json: JSON.stringify(endpointView(endpoint)) });
    }),
  );

  app.post<EndpointPath>(
    '/api/webhooks/endpoints/:id/resume',
    onInstanceAsSuperuser<EndpointPath>(instances, async ({ instance, caller }, request, reply) => {
      refuseOthers(bodyOf(request), { backlog: 'drain' });
      const saving = savingOf({ instance, caller }, request);
      const endpoint = await setEndpointStatus(saving, request.params.id, 'active');
      dispatcher.wake(instance.id);
      return answer(request, reply, { json: JSON.stringify(endpointView(endpoint)) });
    }),
  );

  app.post<EndpointPath>(
    '/api/webhooks/endpoints/:id/test',
    onInstanceAsSuperuser<EndpointPath>(instances, async ({ instance }, request, reply) => {
      refuseOthers(bodyOf(request), { event: 'ping', recordId: '' });
      const delivery = await testEndpoint(instance, request.params.id, options);
      return answer(request, reply, { json: JSON.stringify(delivery) });
    }),
  );
}

/** Audits each change in its transaction. Only names of members are recorded, as headers and the query of a URL may be secret. */
function savingOf(
  { instance, caller }: { readonly instance: Instance; readonly caller: Caller },
  request: FastifyRequest<object>,
): EndpointSaving {
  const facts = ruleInput(request, caller);
  const { database, sealer, clock, collections } = instance;
  return {
    database,
    sealer,
    clock,
    collections,
    isForOperator: isFromOperator(instance, request),
    onChange: async (tx, { before, after }) => {
      const action = before === undefined ? 'create' : after === undefined ? 'delete' : 'update';
      const host = new URL((after ?? before)?.url ?? '').host;
      const isUpdate = before !== undefined && after !== undefined;
      const changed = isUpdate ? changedPaths(before, after).filter((path) => path !== 'updated') : [];
      await auditLogOf(instance).append(tx, facts, {
        action: `endpoint.${action}`,
        target: (after ?? before)?.id ?? '',
        details: { host, ...(isUpdate && { changed }) },
      });
    },
  };
}

/** Refuses, rather than ignores, other values of members that have only one value so far. */
function refuseOthers(body: Readonly<Record<string, unknown>>, only: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(only)) {
    if (body[name] === undefined || body[name] === value) continue;
    const message = `Only ${JSON.stringify(value)} is supported yet.`;
    throw new AppError('bad_request', 'An error occurred while validating the submitted data.', {
      details: { [name]: invalidValue(message) },
    });
  }
}

const endpoint = schemaReference('Endpoint');
const onOne = ['EndpointId', 'Fields'] as const;

/** Endpoints, which say where webhooks go, for superusers. */
export const endpointPaths: Paths = {
  '/api/webhooks/endpoints': {
    get: ours({
      id: 'listEndpoints',
      summary: 'A page of endpoints',
      parameters: listParameters,
      answers: { 200: jsonAnswer('The endpoints.', schemaReference('EndpointList')) },
    }),
    post: ours({
      id: 'createEndpoint',
      summary: 'Register an endpoint',
      parameters: ['Fields'],
      body: schemaReference('EndpointCreate'),
      answers: { 201: jsonAnswer('The endpoint, with its secret.', schemaReference('EndpointWithSecret')) },
      refusals: [409, 507],
    }),
  },
  '/api/webhooks/endpoints/{id}': {
    get: ours({
      id: 'getEndpoint',
      summary: 'An endpoint',
      parameters: onOne,
      answers: { 200: jsonAnswer('The endpoint.', endpoint) },
    }),
    patch: ours({
      id: 'updateEndpoint',
      summary: 'Change members of an endpoint',
      parameters: onOne,
      body: schemaReference('EndpointUpdate'),
      isBodyOptional: true,
      answers: { 200: jsonAnswer('The endpoint.', endpoint) },
      refusals: [409, 507],
    }),
    delete: ours({
      id: 'deleteEndpoint',
      summary: 'Delete an endpoint; its pending deliveries are cancelled',
      parameters: ['EndpointId'],
      answers: { 204: emptyAnswer('The endpoint is deleted.') },
      refusals: [409, 413, 415, 507],
    }),
  },
  '/api/webhooks/endpoints/{id}/secret': {
    get: ours({
      id: 'getEndpointSecret',
      summary: 'What signs the requests to an endpoint',
      parameters: onOne,
      answers: { 200: jsonAnswer('The secret.', schemaReference('EndpointSecret')) },
    }),
  },
  '/api/webhooks/endpoints/{id}/pause': {
    post: action('pauseEndpoint', 'Send nothing until it is resumed; deliveries are collected'),
  },
  '/api/webhooks/endpoints/{id}/resume': {
    post: action('resumeEndpoint', 'Send again, what has waited first', {
      body: objectSchema({ backlog: { const: 'drain' } }, ['backlog']),
    }),
  },
  '/api/webhooks/endpoints/{id}/test': {
    post: action('testEndpoint', 'Send the test event `ping` now, once', {
      body: objectSchema({ event: { const: 'ping' }, recordId: { const: '' } }, ['event', 'recordId']),
      answers: { 200: jsonAnswer('The delivery with its attempt.', schemaReference('Delivery')) },
    }),
  },
};

function ours(parts: Omit<OperationParts, 'tag' | 'isForSuperusers'>): Operation {
  return operation({ ...parts, tag: 'webhooks', isForSuperusers: true });
}

function action(
  id: string,
  summary: string,
  { body, answers }: { readonly body?: Schema; readonly answers?: OperationParts['answers'] } = {},
): Operation {
  return ours({
    id,
    summary,
    parameters: onOne,
    ...(body === undefined ? {} : { body, isBodyOptional: true }),
    answers: answers ?? { 200: jsonAnswer('The endpoint.', endpoint) },
    refusals: [409, 413, 415, 507],
  });
}

const text: Schema = { type: 'string' };
const texts: Schema = { type: 'array', items: text };

/** Members of an endpoint that its owner sets. */
const settings: Readonly<Record<string, Schema>> = {
  url: { type: 'string', minLength: 1, description: 'Public HTTPS, unless the operator allows more.' },
  description: { type: 'string', maxLength: endpointLimits.descriptionLengthMax },
  events: { type: 'array', minItems: 1, items: { enum: recordEventKinds } },
  collections: {
    ...texts,
    maxItems: endpointLimits.collectionsMax,
    description: 'Ids, or names when they are given; empty means all.',
  },
  headers: {
    type: 'object',
    maxProperties: endpointLimits.headersMax,
    additionalProperties: text,
    description: 'Sent with every request. Values of secret-looking names are shown as `********`.',
  },
  maxInFlight: {
    type: 'integer',
    minimum: 1,
    maximum: endpointLimits.requestsInFlightMax,
    description: 'Requests open at once.',
  },
  timeoutMs: { type: 'integer', minimum: endpointLimits.timeoutMsMin, maximum: endpointLimits.timeoutMsMax },
  schedule: {
    type: ['array', 'null'],
    maxItems: endpointLimits.scheduleLengthMax,
    items: { type: 'integer', minimum: 1, maximum: endpointLimits.scheduleSecondsMax },
    description: 'Seconds between attempts; null for the standard schedule, 15 attempts in about 76 hours.',
  },
};

const status: Schema = { enum: ['active', 'paused'] };

const shown: Readonly<Record<string, Schema>> = {
  id: text,
  ...settings,
  status,
  statusReason: { type: 'string', description: 'Why the service paused it; empty when its owner did.' },
  created: text,
  updated: text,
};

const secret: Schema = { type: 'string', description: 'What signs: `whsec_…`.' };

/** Endpoints, which say where webhooks go. */
export const endpointSchemas: Readonly<Record<string, Schema>> = {
  Endpoint: objectSchema(shown),
  EndpointWithSecret: objectSchema({
    ...shown,
    secret,
    warnings: {
      ...texts,
      description: 'What to know of the secret, in words; empty for one of the form `whsec_…`.',
    },
  }),
  EndpointSecret: objectSchema({ secret }),
  EndpointList: listSchema(schemaReference('Endpoint')),
  EndpointCreate: objectSchema(
    {
      ...settings,
      status: { ...status, description: 'A paused one is sent nothing before it is resumed.' },
      secret: { ...secret, description: 'Made by the service when it is left out.' },
    },
    [...Object.keys(settings).filter((name) => name !== 'url'), 'status', 'secret'],
  ),
  EndpointUpdate: objectSchema(settings, Object.keys(settings)),
};
