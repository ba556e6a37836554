import type { FastifyInstance } from 'fastify';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { parseListQuery } from '../../lists/list-query.ts';
import { cancelDelivery, listDeliveries, readDelivery, retryDelivery } from '../../webhooks/delivery-log.ts';
import type { Dispatcher } from '../../webhooks/dispatcher.ts';
import { listJson } from '../../lists/list-json.ts';
import { answer } from '../answer.ts';
import { queryOf } from '../query-string.ts';
import { onInstanceAsSuperuser } from '../on-instance.ts';

interface DeliveryPath {
  Params: { id: string };
}

/** Deliveries: what became of each event on its way to each endpoint, for superusers. */
export function deliveryRoutes(
  app: FastifyInstance,
  { instances, dispatcher }: { readonly instances: OpenInstances; readonly dispatcher: Dispatcher },
): void {
  app.get(
    '/api/webhooks/deliveries',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const page = await listDeliveries(instance, parseListQuery(queryOf(request)));
      const items = page.items.map((delivery) => JSON.stringify(delivery));
      return answer(request, reply, { json: listJson(page, items), isList: true });
    }),
  );

  app.get<DeliveryPath>(
    '/api/webhooks/deliveries/:id',
    onInstanceAsSuperuser<DeliveryPath>(instances, async ({ instance }, request, reply) => {
      const delivery = await readDelivery(instance.database, request.params.id);
      return answer(request, reply, { json: JSON.stringify(delivery) });
    }),
  );

  app.post<DeliveryPath>(
    '/api/webhooks/deliveries/:id/retry',
    onInstanceAsSuperuser<DeliveryPath>(instances, async ({ instance }, request, reply) => {
      const delivery = await retryDelivery(instance, request.params.id);
      dispatcher.wake(instance.id);
      return answer(request, reply, { json: JSON.stringify(delivery) });
    }),
  );

  app.post<DeliveryPath>(
    '/api/webhooks/deliveries/:id/cancel',
    onInstanceAsSuperuser<DeliveryPath>(instances, async ({ instance }, request, reply) => {
      const delivery = await cancelDelivery(instance, request.params.id);
      return answer(request, reply, { json: JSON.stringify(delivery) });
    }),
  );
}
