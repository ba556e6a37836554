import { recordEventKinds } from '../../events/event.ts';
import type { AttemptKind } from '../../webhooks/sending/attempt-result.ts';
import type { DeliveryStatus } from '../../webhooks/delivery.ts';
import type { Schema } from './document.ts';
import { listSchema } from './list-schema.ts';
import { objectSchema } from './object-schema.ts';
import { schemaReference } from './reference.ts';

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
