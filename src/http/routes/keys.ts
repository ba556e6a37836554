import { keyScopes } from '../../access/caller.ts';
import { apiKeyLimits, createApiKey, deleteApiKey, getOwnApiKey, listApiKeys } from '../../auth/api-keys.ts';
import { assert } from '../../base/assert.ts';
import { nothing, notStored } from '../answer.ts';
import { emptyAnswer, jsonAnswer, listParameters } from '../schemas/operation.ts';
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
    summary: 'A page of API keys, without the keys themselves',
    parameters: listParameters,
    answers: { 200: jsonAnswer('The keys.', schemaReference('ApiKeyList')) },
    handle: async (context) => context.answerList(await listApiKeys(context.instance, context.listQuery)),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/api/keys',
    id: 'createApiKey',
    summary: 'Make an API key; no other answer ever shows it',
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
    summary: 'The API key of this request: its scopes and when it expires',
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
    summary: 'Revoke an API key: from the answer on it is refused everywhere',
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
  scopes: { type: 'array', minItems: 1, items: { enum: keyScopes } },
  collections: {
    type: ['array', 'null'],
    minItems: 1,
    maxItems: apiKeyLimits.collectionsMax,
    items: text,
    description:
      'Ids, or names when they are given; only with scopes of records. Null means all but system collections.',
  },
  endpoints: {
    type: ['array', 'null'],
    minItems: 1,
    maxItems: apiKeyLimits.endpointsMax,
    items: text,
    description:
      'Ids of the only endpoints of webhooks that it reaches; only with scopes of webhooks. Null means all.',
  },
  expires: { type: 'string', description: 'From when on the key is refused; empty means never.' },
};

const members: Readonly<Record<string, Schema>> = {
  id: text,
  ...settings,
  created: text,
  lastUsed: { type: 'string', description: 'To the minute; empty when it never was.' },
};

/** API keys, which programs use in place of a sign-in. */
export const keySchemas: Readonly<Record<string, Schema>> = {
  ApiKey: objectSchema(members),
  ApiKeyWithKey: objectSchema({ ...members, key: { type: 'string', description: 'What is sent: `ck_…`.' } }),
  ApiKeyList: listSchema(schemaReference('ApiKey')),
  ApiKeyCreate: objectSchema(settings, ['collections', 'endpoints', 'expires']),
};
