import { keyScopes } from '../../access/caller.ts';
import { apiKeyLimits, createApiKey, deleteApiKey, getOwnApiKey, listApiKeys } from '../../auth/api-keys.ts';
import { assert } from '../../base/assert.ts';
import { nothing, notStored } from '../answer.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { listParameters } from '../schemas/parameters.ts';
import { listSchema, objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

const common = { tag: 'keys', isForSuperusers: true } as const;

/** API keys, for superusers. */
export const keyRoutes = [
  route({
    ...common,
    method: 'GET',
    path: '/api/keys',
    id: 'listApiKeys',
    summary: 'List API keys, without the keys themselves',
    parameters: listParameters,
    answers: { 200: jsonAnswer('The keys.', schemaReference('ApiKeyList')) },
    handle: async (context) => context.answerList(await listApiKeys(context.instance, context.listQuery)),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/api/keys',
    id: 'createApiKey',
    summary: 'Create an API key; only this answer returns the key',
    parameters: ['Fields'],
    body: schemaReference('ApiKeyCreate'),
    formValues: 'texts',
    answers: { 201: jsonAnswer('The key.', schemaReference('ApiKeyWithKey')) },
    refusals: [409, 507],
    handle: async (context) => {
      const { apiKey, key } = await createApiKey(context.instance, context.body, context.input);
      return context.answer(JSON.stringify({ ...apiKey, key }), { status: 201, headers: notStored });
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/api/keys/current',
    id: 'getOwnApiKey',
    scope: 'any',
    summary: 'Get the API key of this request, with its scopes and expiry',
    parameters: ['Fields'],
    answers: { 200: jsonAnswer('The key.', schemaReference('ApiKey')) },
    handle: async (context) => {
      const { instance, caller } = context;
      assert(caller.kind === 'superuser', 'the caller of a route for superusers is one');
      return context.answer(JSON.stringify(await getOwnApiKey(instance, caller)));
    },
  }),
  route({
    ...common,
    method: 'DELETE',
    path: '/api/keys/:id',
    id: 'deleteApiKey',
    summary: 'Revoke an API key; it is rejected from the answer on',
    parameters: ['ApiKeyId'],
    answers: { 204: emptyAnswer('The key is revoked.') },
    refusals: [409, 413, 415, 507],
    handle: async ({ instance, params, input }) => {
      await deleteApiKey(instance, params.id, input);
      return nothing;
    },
  }),
];

const text: Schema = { type: 'string' };

const settings: Readonly<Record<string, Schema>> = {
  name: { type: 'string', minLength: 1, maxLength: apiKeyLimits.nameLengthMax },
  scopes: { type: 'array', minItems: 1, items: { type: 'string', enum: keyScopes } },
  collections: {
    type: ['array', 'null'],
    minItems: 1,
    maxItems: apiKeyLimits.collectionsMax,
    items: text,
    description:
      'Ids, or in a request also names; only with scopes of records. Null means all but system collections.',
  },
  endpoints: {
    type: ['array', 'null'],
    minItems: 1,
    maxItems: apiKeyLimits.endpointsMax,
    items: text,
    description: 'Ids of the endpoints that it is bound to; only with scopes of webhooks. Null means all.',
  },
  expires: { type: 'string', description: 'When the key expires; empty means never.' },
};

const members: Readonly<Record<string, Schema>> = {
  id: text,
  ...settings,
  created: text,
  lastUsed: { type: 'string', description: 'To the minute; empty if never.' },
};

/** API keys, which programs use in place of a sign-in. */
export const keySchemas: Readonly<Record<string, Schema>> = {
  ApiKey: objectSchema(members),
  ApiKeyWithKey: objectSchema({ ...members, key: { type: 'string', description: 'The key: `ck_…`.' } }),
  ApiKeyList: listSchema(schemaReference('ApiKey')),
  ApiKeyCreate: objectSchema(settings, ['collections', 'endpoints', 'expires']),
};
