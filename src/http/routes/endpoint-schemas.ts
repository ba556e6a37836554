import { recordEventKinds } from '../../events/event.ts';
import { namedOptions } from '../../endpoints/endpoint-options.ts';
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
    enum: ['active', 'paused', 'disabled'],
    description: 'The service disables an endpoint that has taken nothing for five days.',
  },
  statusReason: {
    type: 'string',
    description: 'Why the service paused or disabled it; empty when its owner paused it.',
  },
  previousSecretUntil: {
    type: 'string',
    description:
      'Until when the secret before the last rotation signs as well; it may have passed. Empty without one.',
  },
  created: text,
  updated: text,
};

const secret: Schema = { type: 'string', description: 'What signs: `whsec_…`.' };

const warnings: Schema = {
  ...texts,
  description: 'What to know of the secret, in words; empty for one of the form `whsec_…`.',
};

const filterWarningsSchema: Schema = {
  ...texts,
  description:
    'What of the filter is hardly meant, in words: a text that is no value of its select. A change answers with them only where there are some.',
};

/** Members of an endpoint that is to be made. */
const initially: Readonly<Record<string, Schema>> = {
  ...settings,
  status: {
    enum: ['active', 'paused'],
    description: 'A paused one is sent nothing before it is resumed.',
  },
  secret: { ...secret, description: 'Made by the service when it is left out.' },
};

const draft: Readonly<Record<string, Schema>> = {
  id: { type: 'string', description: 'Of the endpoint that is to be changed; left out for a new one.' },
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
      description: 'What to know of the secret, and what of the filter is hardly meant, in words.',
    },
  }),
  /** As an endpoint is shown, but for warnings that there may be. */
  EndpointWithWarnings: objectSchema({ ...members, warnings: filterWarningsSchema }, ['warnings']),
  EndpointSecret: objectSchema({ secret }),
  EndpointSecretRotation: objectSchema(
    {
      secret: { ...secret, description: 'Made by the service when it is left out.' },
      overlapSeconds: {
        type: 'integer',
        minimum: 0,
        maximum: 604_800,
        default: 86_400,
        description: 'How long the secret before it signs as well.',
      },
    },
    ['secret', 'overlapSeconds'],
  ),
  EndpointSecretRotated: objectSchema({
    secret,
    previousSecretUntil: members['previousSecretUntil'] ?? text,
    warnings,
  }),
  EndpointList: listSchema(schemaReference('Endpoint')),
  EndpointCreate: objectSchema(initially, [...initialNames, 'status', 'secret']),
  EndpointUpdate: objectSchema(settings, Object.keys(settings)),
  EndpointTest: objectSchema(
    {
      event: {
        enum: ['ping', ...recordEventKinds],
        description: 'With a record, what is told of it: `record.update` where this is left out.',
      },
      recordId: { type: 'string', description: 'The record that is sent, as it is now.' },
      collection: {
        type: 'string',
        description:
          'The id or the name of its collection; may be left out where the endpoint has one alone.',
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
        reason: { type: 'string', description: 'Why it is not allowed; empty where it is.' },
        remedy: { type: 'string', description: 'What of the server would allow it; for its operator alone.' },
      },
      ['remedy'],
    ),
    eventsPerDay: {
      type: ['number', 'null'],
      minimum: 0,
      description:
        'How many events of a day it would have been sent, on the average of the last week; null while its events or collections have a problem.',
    },
    warnings: filterWarningsSchema,
    retries: {
      type: 'array',
      items: { type: 'integer', minimum: 1 },
      description:
        'Seconds from the first attempt to each that follows, give or take a quarter of each delay.',
    },
  }),
};
