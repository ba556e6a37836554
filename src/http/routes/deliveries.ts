import { eventKinds } from '../../events/event.ts';
import type { Transaction } from '../../storage/database.ts';
import {
  cancelDelivery,
  listDeliveries,
  readDelivery,
  retryDelivery,
} from '../../deliveries/log/delivery-log.ts';
import { deliveryStatuses } from '../../deliveries/delivery.ts';
import { tryEndpoint } from '../../deliveries/endpoints/try-endpoint.ts';
import type { AttemptKind } from '../../sending/attempt-result.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { listParameters } from '../schemas/parameters.ts';
import { cursorListSchema, objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import type { RequestContext } from '../request-context.ts';
import { route } from '../route.ts';

const common = { tag: 'webhooks', isForSuperusers: true } as const;
const onOne = {
  ...common,
  endpointKeys: 'delivery',
  parameters: ['DeliveryId', 'Fields'],
  answers: { 200: jsonAnswer('The delivery.', schemaReference('Delivery')) },
} as const;

/** Deliveries: what became of each event on its way to each endpoint, for superusers. */
export const deliveryRoutes = [
  route({
    ...common,
    method: 'GET',
    path: '/api/webhooks/deliveries',
    id: 'listDeliveries',
    scope: 'webhooks:read',
    endpointKeys: 'narrowed',
    summary: 'List deliveries with their attempts',
    parameters: [...listParameters, 'Cursor'],
    answers: { 200: jsonAnswer('The deliveries.', schemaReference('DeliveryList')) },
    handle: async (context) =>
      context.answerList(await listDeliveries(context.instance, context.listQuery, context.caller)),
  }),
  route({
    ...onOne,
    method: 'GET',
    path: '/api/webhooks/deliveries/:id',
    id: 'getDelivery',
    scope: 'webhooks:read',
    summary: 'Get a delivery with its attempts and their responses',
    handle: async (context) => {
      const delivery = await readDelivery(context.instance.database, context.params.id);
      return context.answer(JSON.stringify(delivery));
    },
  }),
  route({
    ...onOne,
    method: 'POST',
    path: '/api/webhooks/deliveries/:id/retry',
    id: 'retryDelivery',
    scope: 'webhooks:write',
    summary: 'Retry a delivery now',
    refusals: [409, 413, 415, 507],
    handle: async (context) => {
      const { services, instance, params } = context;
      const delivery = await retryDelivery(instance, params.id, noteOf(context, 'delivery.retry'));
      await tryEndpoint(instance, delivery.endpoint);
      services.dispatcher.wake(instance.id);
      return context.answer(JSON.stringify(delivery));
    },
  }),
  route({
    ...onOne,
    method: 'POST',
    path: '/api/webhooks/deliveries/:id/cancel',
    id: 'cancelDelivery',
    scope: 'webhooks:write',
    summary: 'Cancel a pending delivery',
    refusals: [409, 413, 415, 507],
    handle: async (context) => {
      const { instance, params } = context;
      const delivery = await cancelDelivery(instance, params.id, noteOf(context, 'delivery.cancel'));
      return context.answer(JSON.stringify(delivery));
    },
  }),
];

/** Returns what tells the audit log who has acted on a delivery. */
function noteOf(
  { instance, input, params }: RequestContext<{ readonly id: string }>,
  action: 'delivery.retry' | 'delivery.cancel',
): (tx: Transaction) => Promise<void> {
  return (tx) => instance.audit.append(tx, input, { action, target: params.id });
}

const attemptKinds = Object.keys({
  success: true,
  status: true,
  timeout: true,
  dns: true,
  connect: true,
  tls: true,
  refused: true,
  protocol: true,
  proxy: true,
} satisfies Record<Exclude<AttemptKind, 'aborted'>, true>);

const text: Schema = { type: 'string' };
const duration: Schema = {
  type: ['number', 'null'],
  description: 'Null if the attempt did not reach this step.',
};

/** What became of events on their way to endpoints. */
export const deliverySchemas: Readonly<Record<string, Schema>> = {
  Delivery: objectSchema({
    id: text,
    endpoint: { type: 'string', description: 'Its id.' },
    event: { type: 'string', description: 'Id of the event: the `webhook-id` that receivers get.' },
    kind: { type: 'string', enum: eventKinds },
    collection: { type: 'string', description: 'Its name when it happened.' },
    record: { type: 'string', description: 'Its id.' },
    status: { type: 'string', enum: deliveryStatuses },
    cause: {
      type: 'string',
      description: 'Why it is not delivered; empty otherwise.',
    },
    nextAttempt: { type: 'string', description: 'When the next attempt is due; empty if none is.' },
    created: text,
    updated: text,
    attempts: { type: 'array', items: schemaReference('Attempt') },
  }),
  DeliveryList: cursorListSchema(schemaReference('Delivery')),
  Attempt: objectSchema(
    {
      number: { type: 'integer', minimum: 1 },
      started: text,
      kind: { type: 'string', enum: attemptKinds },
      status: { type: ['integer', 'null'], description: 'The status that the receiver returned.' },
      cause: { type: 'string', description: 'Why it failed; empty on success.' },
      dnsMs: duration,
      connectMs: duration,
      tlsMs: duration,
      firstByteMs: duration,
      totalMs: { type: 'number' },
      batch: {
        type: ['object', 'null'],
        properties: { id: { type: 'string' }, size: { type: 'integer' } },
        description:
          'The batch that it was sent in: its `webhook-id`, and how many deliveries it had. The response to a batch is kept with its first delivery.',
      },
      responseHeaders: { type: 'object', additionalProperties: true },
      responseBody: { type: 'string', description: 'The first 16 KiB of it.' },
    },
    // Optional: only the answer for a single delivery has them.
    ['responseHeaders', 'responseBody'],
  ),
};
