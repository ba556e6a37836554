import { descriptionLengthMax, eventSelections } from '../../../operator/operator-endpoint.ts';
import {
  createOperatorEndpoint,
  deleteOperatorEndpoint,
  findOperatorEndpoint,
  listOperatorEndpoints,
  type OperatorEndpointRequest,
  rotateOperatorSecret,
  testOperatorEndpoint,
  updateOperatorEndpoint,
} from '../../../operator/operator-endpoints.ts';
import { secretWarnings } from '../../../sending/signature.ts';
import { nothing, notStored } from '../../answer.ts';
import type { OperatorContext } from '../../operator-context.ts';
import { operatorRoute } from '../../route.ts';
import { emptyAnswer, jsonAnswer } from '../../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../../schemas/schema.ts';

const common = { tag: 'operator' } as const;
const onOne = {
  ...common,
  path: '/endpoints/:endpoint',
  parameters: ['OperatorEndpointId', 'Fields'],
  answers: { 200: jsonAnswer('The endpoint.', schemaReference('OperatorEndpoint')) },
} as const;

/** Where the events of the operator are sent. */
export const operatorEndpointRoutes = [
  operatorRoute({
    ...common,
    method: 'GET',
    path: '/endpoints',
    id: 'listOperatorEndpoints',
    scope: 'instances:read',
    summary: 'List the endpoints that what becomes of instances is sent to',
    parameters: ['Fields'],
    answers: {
      200: jsonAnswer(
        'The endpoints.',
        objectSchema({ items: { type: 'array', items: schemaReference('OperatorEndpoint') } }),
      ),
    },
    handle: async (context) =>
      context.answer(JSON.stringify({ items: await listOperatorEndpoints(context.operator) })),
  }),
  operatorRoute({
    ...common,
    method: 'POST',
    path: '/endpoints',
    id: 'createOperatorEndpoint',
    scope: 'admin',
    summary: 'Create an endpoint, which gets the events that follow, or those after a cursor',
    parameters: ['Fields'],
    body: schemaReference('OperatorEndpointCreate'),
    answers: {
      201: jsonAnswer('The endpoint, with its secret.', schemaReference('OperatorEndpointWithSecret')),
    },
    refusals: [409, 507],
    handle: async (context) => {
      const { operator, body, actor } = context;
      const endpoint = await createOperatorEndpoint(operator, body, actor);
      return context.answer(JSON.stringify(endpoint), { status: 201, headers: notStored });
    },
  }),
  operatorRoute({
    ...onOne,
    method: 'GET',
    id: 'getOperatorEndpoint',
    scope: 'instances:read',
    summary: 'Get an endpoint, and how it does',
    handle: async (context) =>
      context.answer(JSON.stringify(await findOperatorEndpoint(context.operator, context.params.endpoint))),
  }),
  operatorRoute({
    ...onOne,
    method: 'PATCH',
    id: 'updateOperatorEndpoint',
    scope: 'admin',
    summary: 'Update, pause or resume an endpoint; with another URL or resumed, it is tried at once',
    body: schemaReference('OperatorEndpointUpdate'),
    refusals: [409, 507],
    handle: async (context) =>
      context.answer(JSON.stringify(await updateOperatorEndpoint(context.operator, requestOf(context)))),
  }),
  operatorRoute({
    ...onOne,
    method: 'DELETE',
    id: 'deleteOperatorEndpoint',
    scope: 'admin',
    summary: 'Delete an endpoint',
    parameters: ['OperatorEndpointId'],
    answers: { 204: emptyAnswer('The endpoint is deleted.') },
    refusals: [409, 413, 415, 507],
    handle: async ({ operator, params, actor }) => {
      await deleteOperatorEndpoint(operator, { id: params.endpoint, actor });
      return nothing;
    },
  }),
  operatorRoute({
    ...onOne,
    method: 'POST',
    path: '/endpoints/:endpoint/secret/rotate',
    id: 'rotateOperatorEndpointSecret',
    scope: 'admin',
    summary: 'Rotate the secret of an endpoint; the previous one also signs for a while',
    body: schemaReference('EndpointSecretRotation'),
    isBodyOptional: true,
    answers: { 200: jsonAnswer('The new secret.', schemaReference('EndpointSecretRotated')) },
    refusals: [409, 507],
    handle: async (context) => {
      const { secret, previousSecretUntil } = await rotateOperatorSecret(
        context.operator,
        requestOf(context),
      );
      const json = JSON.stringify({ secret, previousSecretUntil, warnings: secretWarnings(secret) });
      return context.answer(json, { headers: notStored });
    },
  }),
  operatorRoute({
    ...onOne,
    method: 'POST',
    path: '/endpoints/:endpoint/test',
    id: 'testOperatorEndpoint',
    scope: 'admin',
    summary: 'Send the event `ping` once; where it is accepted, events that wait for a retry follow at once',
    answers: { 200: jsonAnswer('What came of it.', schemaReference('OperatorEndpointTest')) },
    refusals: [409, 413, 415, 429, 507],
    handle: async (context) =>
      context.answer(JSON.stringify(await testOperatorEndpoint(context.operator, context.params.endpoint))),
  }),
];

function requestOf({
  params,
  body,
  actor,
}: OperatorContext<{ readonly endpoint: string }>): OperatorEndpointRequest {
  return { id: params.endpoint, body, actor };
}

const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', minimum: 0 };

const settings: Readonly<Record<string, Schema>> = {
  url: { type: 'string', minLength: 1, description: 'Public HTTPS, unless the server allows more.' },
  description: { type: 'string', maxLength: descriptionLengthMax, description: 'Notes for people.' },
  events: {
    type: 'array',
    minItems: 1,
    items: { type: 'string', enum: eventSelections },
    description: '`*` is every kind, also those of later versions; `instance.*` those of a group.',
  },
  status: { type: 'string', enum: ['active', 'paused'], description: 'Events wait for a paused endpoint.' },
};

const members: Readonly<Record<string, Schema>> = {
  id: text,
  ...settings,
  cursor: { ...text, description: 'The cursor of the feed up to which it is done with the events.' },
  behind: { ...count, description: 'Events of the feed after its cursor, of any kind.' },
  skipped: {
    ...count,
    description: 'Events, of any kind, that were deleted from the feed before they were sent.',
  },
  attempts: { ...count, description: 'Failed attempts of the next event.' },
  nextAttempt: { ...text, description: 'When it is sent again; empty while no event waits for a retry.' },
  lastStatus: { type: ['integer', 'null'], description: 'The status of the last answer.' },
  lastError: { ...text, description: 'Why the last attempt failed; empty when it succeeded.' },
  failingSince: { ...text, description: 'Since when no attempt has succeeded; empty unless it fails.' },
  previousSecretUntil: {
    ...text,
    description: 'Until when the previous secret also signs. Empty without a rotation.',
  },
  created: text,
  updated: text,
};

const secret: Schema = { type: 'string', description: 'The signing secret: `whsec_…`.' };

export const operatorEndpointSchemas: Readonly<Record<string, Schema>> = {
  OperatorEndpoint: objectSchema(members),
  OperatorEndpointWithSecret: objectSchema({ ...members, secret }),
  OperatorEndpointCreate: objectSchema(
    {
      ...settings,
      secret: { ...secret, description: 'Generated if omitted.' },
      from: {
        ...text,
        description: 'A cursor of the feed to begin after; empty for its beginning. By default its end.',
      },
    },
    ['description', 'events', 'status', 'secret', 'from'],
  ),
  OperatorEndpointUpdate: objectSchema(settings, Object.keys(settings)),
  OperatorEndpointTest: objectSchema({
    event: { ...text, description: 'Id of the event, `webhook-id` of the request.' },
    isDelivered: { type: 'boolean' },
    status: { type: ['integer', 'null'], description: 'The status of the answer.' },
    error: { ...text, description: 'Why it failed; empty when it did not.' },
    totalMs: { type: ['number', 'null'], minimum: 0 },
  }),
};
