import type { FastifyInstance } from 'fastify';
import { AppError } from '../../base/errors.ts';
import type { Instance } from '../../instances/instance.ts';
import type { Loan, OpenInstances } from '../../instances/open-instances.ts';
import { parseListQuery } from '../../lists/list-query.ts';
import type { NetworkPolicy } from '../../webhooks/address-guard.ts';
import {
  createEndpoint,
  deleteEndpoint,
  getEndpoint,
  setEndpointStatus,
  updateEndpoint,
} from '../../webhooks/change-endpoint.ts';
import type { Dispatcher } from '../../webhooks/dispatcher.ts';
import { endpointStoreOf } from '../../webhooks/endpoint-store.ts';
import { endpointView } from '../../webhooks/endpoint.ts';
import { listEndpoints } from '../../webhooks/list-endpoints.ts';
import { testEndpoint } from '../../webhooks/test-endpoint.ts';
import { answer, answerNothing, listJson } from '../answer.ts';
import { bodyOf } from '../json-body.ts';
import { queryOf } from '../query-string.ts';
import { onInstanceAsSuperuser } from '../on-instance.ts';

interface EndpointPath {
  Params: { id: string };
}

export interface EndpointRoutesOptions {
  readonly instances: OpenInstances;
  readonly policy: NetworkPolicy;
  readonly dispatcher: Dispatcher;
  readonly borrow: (instance: Instance) => Promise<Loan>;
}

/** Where webhooks go, for superusers. */
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
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const endpoint = await createEndpoint(instance, bodyOf(request), policy);
      // The one answer beside the secret's own route that shows it.
      const json = JSON.stringify({ ...endpointView(endpoint), secret: endpoint.secret });
      return answer(request, reply, { status: 201, json });
    }),
  );

  app.get<EndpointPath>(
    '/api/webhooks/endpoints/:id',
    onInstanceAsSuperuser<EndpointPath>(instances, async ({ instance }, request, reply) => {
      const endpoint = await getEndpoint(instance.database, endpointStoreOf(instance), request.params.id);
      return answer(request, reply, { json: JSON.stringify(endpointView(endpoint)) });
    }),
  );

  app.get<EndpointPath>(
    '/api/webhooks/endpoints/:id/secret',
    onInstanceAsSuperuser<EndpointPath>(instances, async ({ instance }, request, reply) => {
      const { secret } = await getEndpoint(instance.database, endpointStoreOf(instance), request.params.id);
      return answer(request, reply, {
        json: JSON.stringify({ secret }),
        headers: { 'cache-control': 'no-store' },
      });
    }),
  );

  app.patch<EndpointPath>(
    '/api/webhooks/endpoints/:id',
    onInstanceAsSuperuser<EndpointPath>(instances, async ({ instance }, request, reply) => {
      const endpoint = await updateEndpoint(
        instance,
        { id: request.params.id, body: bodyOf(request) },
        policy,
      );
      dispatcher.wake(instance.id);
      return answer(request, reply, { json: JSON.stringify(endpointView(endpoint)) });
    }),
  );

  app.delete<EndpointPath>(
    '/api/webhooks/endpoints/:id',
    onInstanceAsSuperuser<EndpointPath>(instances, async ({ instance }, request, reply) => {
      await deleteEndpoint(instance, request.params.id);
      return answerNothing(request, reply);
    }),
  );
  endpointActionRoutes(app, options);
}

function endpointActionRoutes(app: FastifyInstance, options: EndpointRoutesOptions): void {
  const { instances, dispatcher } = options;

  app.post<EndpointPath>(
    '/api/webhooks/endpoints/:id/pause',
    onInstanceAsSuperuser<EndpointPath>(instances, async ({ instance }, request, reply) => {
      const endpoint = await setEndpointStatus(instance, request.params.id, 'paused');
      return answer(request, reply, { json: JSON.stringify(endpointView(endpoint)) });
    }),
  );

  app.post<EndpointPath>(
    '/api/webhooks/endpoints/:id/resume',
    onInstanceAsSuperuser<EndpointPath>(instances, async ({ instance }, request, reply) => {
      refuseOthers(bodyOf(request), { backlog: 'drain' });
      const endpoint = await setEndpointStatus(instance, request.params.id, 'active');
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

/** Members of the contract that have one value so far: another one is refused, not ignored. */
function refuseOthers(body: Readonly<Record<string, unknown>>, only: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(only)) {
    if (body[name] === undefined || body[name] === value) continue;
    const message = `Only ${JSON.stringify(value)} is supported yet.`;
    throw new AppError('bad_request', 'An error occurred while validating the submitted data.', {
      details: { [name]: { code: 'validation_invalid_value', message } },
    });
  }
}
