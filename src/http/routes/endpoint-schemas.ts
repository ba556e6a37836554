import { recordEventKinds } from '../../events/event.ts';
import { namedOptions } from '../../endpoints/endpoint-options.ts';
import { endpointStatuses } from '../../endpoints/endpoint.ts';
import { listSchema, objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';

const text: Schema = { type: 'string' };
const texts: Schema = { type: 'array', items: text };

/** Members of an endpoint that its owner sets. */
const settings: Readonly<Record<string, Schema>> = Object.fromEntries(
  namedOptions.map(([name, { schema }]) => [name, schema]),
);

const initialNames = namedOptions.flatMap(([name, { initial }]) => (initial === undefined ? [] : [name]));

const members: Readonly<Record<string, Schema>> = {
  id: text,
  ...settings,
  status: {
    type: 'string',
    enum: endpointStatuses,
    description:
      "The service disables an endpoint that has accepted nothing for five days. An account's endpoint is unverified until its receiver has answered a challenge.",
  },
  statusReason: {
    type: 'string',
    description:
      'Why the service paused or disabled it, or has not verified it; empty when its owner paused it.',
  },
  verified: {
    type: 'string',
    description: 'When the receiver confirmed that it wants webhooks. Empty if it has not, or was not asked.',
  },
  reconciling: {
    type: 'boolean',
    description: 'Whether an endpoint with transitions is being reconciled, or is about to be.',
  },
  previousSecretUntil: {
    type: 'string',
    description:
      'Until when the previous secret also signs, which may be in the past. Empty without a rotation.',
  },
  created: text,
  updated: text,
};

const secret: Schema = { type: 'string', description: 'The signing secret: `whsec_…`.' };

const warnings: Schema = {
  ...texts,
  description: 'Warnings about the secret; empty for one of the form `whsec_…`.',
};

const filterWarningsSchema: Schema = {
  ...texts,
  description:
    'Warnings about the filter, such as a text that is no option of its select field, and about a certificate that expires soon. A change returns them only if there are any.',
};

/** Members of an endpoint that is to be made. */
const initially: Readonly<Record<string, Schema>> = {
  ...settings,
  status: {
    type: 'string',
    enum: ['active', 'paused'],
    description: 'A paused endpoint gets nothing until it is resumed.',
  },
  secret: { ...secret, description: 'Generated if omitted.' },
};

const draft: Readonly<Record<string, Schema>> = {
  id: { type: 'string', description: 'Id of the endpoint to change; omit it for a new one.' },
  ...initially,
};

/** Endpoints, which say where webhooks go. */
export const endpointSchemas: Readonly<Record<string, Schema>> = {
  Endpoint: objectSchema(members),
  EndpointWithSecret: objectSchema({
    ...members,
    secret,
    warnings: {
      ...texts,
      description: 'Warnings about the secret, the filter and the client certificate.',
    },
  }),
  /** As an endpoint is shown, but for warnings that there may be. */
  EndpointWithWarnings: objectSchema({ ...members, warnings: filterWarningsSchema }, ['warnings']),
  EndpointSecret: objectSchema({ secret }),
  EndpointSecretRotation: objectSchema(
    {
      secret: { ...secret, description: 'Generated if omitted.' },
      overlapSeconds: {
        type: 'integer',
        minimum: 0,
        maximum: 604_800,
        default: 86_400,
        description: 'How long the previous secret also signs.',
      },
    },
    ['secret', 'overlapSeconds'],
  ),
  EndpointSecretRotated: objectSchema({
    secret,
    previousSecretUntil: members['previousSecretUntil'] ?? text,
    warnings,
  }),
  EndpointList: listSchema(schemaReference('ListedEndpoint')),
  /** As an endpoint is shown, but for what `include` adds. */
  ListedEndpoint: objectSchema({ ...members, stats: schemaReference('ListedEndpointStats') }, ['stats']),
  EndpointCreate: objectSchema(initially, [...initialNames, 'status', 'secret']),
  EndpointUpdate: objectSchema(settings, Object.keys(settings)),
  EndpointTest: objectSchema(
    {
      event: {
        type: 'string',
        enum: ['ping', ...recordEventKinds],
        description: 'The kind of event for a record; `record.update` by default.',
      },
      recordId: { type: 'string', description: 'The record to send, in its current state.' },
      collection: {
        type: 'string',
        description: 'Id or name of its collection. Optional if the endpoint has only one.',
      },
    },
    ['event', 'recordId', 'collection'],
  ),
  EndpointDraft: objectSchema(draft, Object.keys(draft)),
  EndpointCheck: objectSchema({
    problems: schemaReference('FieldErrors'),
    url: objectSchema(
      {
        isAllowed: { type: 'boolean' },
        reason: { type: 'string', description: 'Why the URL is not allowed; empty if it is.' },
        remedy: {
          type: 'string',
          description: 'The server option that would allow it; only for the operator.',
        },
      },
      ['remedy'],
    ),
    eventsPerDay: {
      type: ['number', 'null'],
      minimum: 0,
      description:
        'Events per day that it would have received, averaged over the last week, and by its filter over the last changes; null while its events, collections or filter are invalid.',
    },
    warnings: filterWarningsSchema,
    retries: {
      type: 'array',
      items: { type: 'integer', minimum: 1 },
      description: 'Seconds from the first attempt to each retry, with a jitter of a quarter of each delay.',
    },
  }),
};
