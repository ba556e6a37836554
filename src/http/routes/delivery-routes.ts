import type { FastifyInstance } from 'fastify';
import { parseListQuery } from '../../lists/list-query.ts';
import { cancelDelivery, listDeliveries, readDelivery, retryDelivery } from '../../webhooks/delivery-log.ts';
import type { Dispatcher } from '../../webhooks/dispatcher.ts';
import { answer, listJson } from '../answer.ts';
import { queryOf } from '../query-string.ts';
import { superuserContextOf } from '../request-context.ts';

interface DeliveryPath {
  Params: { id: string };
}

/** What became of each event on its way to each endpoint, for superusers. */
export function deliveryRoutes(app: FastifyInstance, dispatcher: Dispatcher): void {
  app.get('/api/webhooks/deliveries', async (request, reply) => {
    const { instance } = await superuserContextOf(request);
    const page = await listDeliveries(instance, parseListQuery(queryOf(request)));
    const items = page.items.map((delivery) => JSON.stringify(delivery));
    return answer(request, reply, { json: listJson(page, items), isList: true });
  });

  app.get<DeliveryPath>('/api/webhooks/deliveries/:id', async (request, reply) => {
    const { instance } = await superuserContextOf(request);
    const delivery = await readDelivery(instance, request.params.id);
    return answer(request, reply, { json: JSON.stringify(delivery) });
  });

  app.post<DeliveryPath>('/api/webhooks/deliveries/:id/retry', async (request, reply) => {
    const { instance } = await superuserContextOf(request);
    await retryDelivery(instance, request.params.id);
    dispatcher.wake(instance.id);
    return answer(request, reply, { json: JSON.stringify(await readDelivery(instance, request.params.id)) });
  });

  app.post<DeliveryPath>('/api/webhooks/deliveries/:id/cancel', async (request, reply) => {
    const { instance } = await superuserContextOf(request);
    await cancelDelivery(instance, request.params.id);
    return answer(request, reply, { json: JSON.stringify(await readDelivery(instance, request.params.id)) });
  });
}
