import { recordEventKinds } from '../../events/event.ts';
import { endpointLimits } from '../../webhooks/endpoints/endpoint-limits.ts';
import type { Schema } from './document.ts';
import { listSchema } from './list-schema.ts';
import { objectSchema } from './object-schema.ts';
import { schemaReference } from './reference.ts';

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
