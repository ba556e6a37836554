import type { Operation, Paths } from './document.ts';
import { jsonAnswer, operation, type OperationParts } from './operation.ts';
import { listParameters } from './parameters.ts';
import { schemaReference } from './reference.ts';

const parameters = ['DeliveryId', 'Fields'] as const;
const answers = { 200: jsonAnswer('The delivery.', schemaReference('Delivery')) };

/** What became of each event on its way to each endpoint, for superusers. */
export const deliveryPaths: Paths = {
  '/api/webhooks/deliveries': {
    get: ours({
      id: 'listDeliveries',
      summary: 'A page of deliveries with their attempts',
      parameters: listParameters,
      answers: { 200: jsonAnswer('The deliveries.', schemaReference('DeliveryList')) },
    }),
  },
  '/api/webhooks/deliveries/{id}': {
    get: ours({
      id: 'getDelivery',
      summary: 'A delivery with its attempts and what was answered to them',
      parameters,
      answers,
    }),
  },
  '/api/webhooks/deliveries/{id}/retry': {
    post: ours({
      id: 'retryDelivery',
      summary: 'Make a delivery due now',
      parameters,
      answers,
      refusals: [409, 413, 415, 507],
    }),
  },
  '/api/webhooks/deliveries/{id}/cancel': {
    post: ours({
      id: 'cancelDelivery',
      summary: 'End a pending delivery',
      parameters,
      answers,
      refusals: [409, 413, 415, 507],
    }),
  },
};

function ours(parts: Omit<OperationParts, 'tag' | 'isForSuperusers'>): Operation {
  return operation({ ...parts, tag: 'webhooks', isForSuperusers: true });
}
