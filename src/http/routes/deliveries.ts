import type { FastifyInstance } from 'fastify';
import { recordEventKinds } from '../../events/event.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { parseListQuery } from '../../query/list-query.ts';
import { listJson } from '../../query/run-list.ts';
import { cancelDelivery, listDeliveries, readDelivery, retryDelivery } from '../../webhooks/delivery-log.ts';
import type { DeliveryStatus } from '../../webhooks/delivery.ts';
import type { Dispatcher } from '../../webhooks/dispatcher.ts';
import type { AttemptKind } from '../../webhooks/sending/attempt-result.ts';
import { answer } from '../answer.ts';
import { jsonAnswer, listParameters, operation, type OperationParts } from '../openapi/operation.ts';
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

// Written as an object so that the compiler reports a missing status.
const statuses = Object.keys({
  pending: true,
  delivered: true,
  exhausted: true,
  expired: true,
  cancelled: true,
} satisfies Record<DeliveryStatus, true>);

const attemptKinds = Object.keys({
  success: true,
  status: true,
  timeout: true,
  dns: true,
  connect: true,
  tls: true,
  refused: true,
  protocol: true,
} satisfies Record<Exclude<AttemptKind, 'aborted'>, true>);

const text: Schema = { type: 'string' };
const duration: Schema = { type: ['number', 'null'], description: 'Null where the step was not taken.' };

/** What became of events on their way to endpoints. */
export const deliverySchemas: Readonly<Record<string, Schema>> = {
  Delivery: objectSchema({
    id: text,
    endpoint: { type: 'string', description: 'Its id.' },
    event: { type: 'string', description: 'Its id: the `webhook-id` that receivers see.' },
    kind: { enum: [...recordEventKinds, 'ping'] },
    collection: { type: 'string', description: 'Its name when it happened.' },
    record: { type: 'string', description: 'Its id.' },
    status: { enum: statuses },
    cause: {
      type: 'string',
      description: 'Why it is not delivered; empty when there is nothing to explain.',
    },
    nextAttempt: { type: 'string', description: 'When the next one is due; empty when none is.' },
    created: text,
    updated: text,
    attempts: { type: 'array', items: schemaReference('Attempt') },
  }),
  DeliveryList: listSchema(schemaReference('Delivery')),
  Attempt: objectSchema(
    {
      number: { type: 'integer', minimum: 1 },
      started: text,
      kind: { enum: attemptKinds },
      status: { type: ['integer', 'null'], description: 'What the receiver answered.' },
      cause: { type: 'string', description: 'Why it failed; empty on success.' },
      dnsMs: duration,
      connectMs: duration,
      tlsMs: duration,
      firstByteMs: duration,
      totalMs: { type: 'number' },
      responseHeaders: { type: 'object', additionalProperties: true },
      responseBody: { type: 'string', description: 'The first 16 KiB of it.' },
    },
    // Optional: only the answer for a single delivery has them.
    ['responseHeaders', 'responseBody'],
  ),
};
