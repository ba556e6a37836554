import type { FastifyInstance, FastifyRequest } from 'fastify';
import { auditLogOf } from '../../audit/audit-log.ts';
import { changedPaths } from '../../audit/changed-paths.ts';
import { AppError } from '../../base/errors.ts';
import { invalidValue } from '../../fields/field-error.ts';
import type { Instance } from '../../instances/instance.ts';
import type { Loan, OpenInstances } from '../../instances/open-instances.ts';
import { parseListQuery } from '../../lists/list-query.ts';
import type { NetworkPolicy } from '../../network/address-guard.ts';
import type { Caller } from '../../rules/caller.ts';
import {
  createEndpoint,
  deleteEndpoint,
  setEndpointStatus,
  updateEndpoint,
  type EndpointSaving,
} from '../../webhooks/endpoints/change-endpoint.ts';
import type { Dispatcher } from '../../webhooks/dispatcher.ts';
import { endpointView } from '../../webhooks/endpoints/endpoint.ts';
import { listEndpoints, readEndpoint } from '../../webhooks/endpoints/list-endpoints.ts';
import { secretWarnings } from '../../webhooks/sending/signature.ts';
import { testEndpoint } from '../../webhooks/test-endpoint.ts';
import { listJson } from '../../lists/list-json.ts';
import { answer, answerNothing } from '../answer.ts';
import { bodyOf } from '../request-body.ts';
import { queryOf } from '../query-string.ts';
import { isFromOperator } from '../is-from-operator.ts';
import { onInstanceAsSuperuser } from '../on-instance.ts';
import { factsOf } from '../request-facts.ts';

interface EndpointPath {
  Params: { id: string };
}

export interface EndpointRoutesOptions {
  readonly instances: OpenInstances;
  readonly policy: NetworkPolicy;
  readonly dispatcher: Dispatcher;
  readonly borrow: (instance: Instance) => Promise<Loan>;
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
      const facts = factsOf(request, caller);
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
  const facts = factsOf(request, caller);
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
