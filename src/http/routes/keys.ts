import type { FastifyInstance } from 'fastify';
import { keyScopes } from '../../access/caller.ts';
import { apiKeyLimits, createApiKey, deleteApiKey, listApiKeys } from '../../auth/api-keys.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { parseListQuery } from '../../query/list-query.ts';
import { listJson } from '../../query/run-list.ts';
import { answer, answerNothing } from '../answer.ts';
import { bodyOf } from '../body.ts';
import {
  emptyAnswer,
  jsonAnswer,
  listParameters,
  operation,
  type OperationParts,
} from '../openapi/operation.ts';
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
import { ruleInput } from '../rule-input.ts';

interface KeyPath {
  Params: { id: string };
}

/** API keys, for superusers. */
export function keyRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.get(
    '/api/keys',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const page = await listApiKeys(instance, parseListQuery(queryOf(request)));
      const items = page.items.map((apiKey) => JSON.stringify(apiKey));
      return answer(request, reply, { json: listJson(page, items), isList: true });
    }),
  );

  app.post(
    '/api/keys',
    { config: { formValues: 'texts' } },
    onInstanceAsSuperuser(instances, async ({ instance, caller }, request, reply) => {
      const { apiKey, key } = await createApiKey(instance, bodyOf(request), ruleInput(request, caller));
      // No other answer ever shows the key.
      const json = JSON.stringify({ ...apiKey, key });
      return answer(request, reply, { status: 201, json, headers: { 'cache-control': 'no-store' } });
    }),
  );

  app.delete<KeyPath>(
    '/api/keys/:id',
    onInstanceAsSuperuser<KeyPath>(instances, async ({ instance, caller }, request, reply) => {
      await deleteApiKey(instance, request.params.id, ruleInput(request, caller));
      return answerNothing(request, reply);
    }),
  );
}

/** API keys, for superusers. */
export const keyPaths: Paths = {
  '/api/keys': {
    get: ours({
      id: 'listApiKeys',
      summary: 'A page of API keys, without the keys themselves',
      parameters: listParameters,
      answers: { 200: jsonAnswer('The keys.', schemaReference('ApiKeyList')) },
    }),
    post: ours({
      id: 'createApiKey',
      summary: 'Make an API key; no other answer ever shows it',
      parameters: ['Fields'],
      body: schemaReference('ApiKeyCreate'),
      answers: { 201: jsonAnswer('The key.', schemaReference('ApiKeyWithKey')) },
      refusals: [409, 507],
    }),
  },
  '/api/keys/{id}': {
    delete: ours({
      id: 'deleteApiKey',
      summary: 'Revoke an API key: from the answer on it is refused everywhere',
      parameters: ['ApiKeyId'],
      answers: { 204: emptyAnswer('The key is revoked.') },
      refusals: [409, 413, 415, 507],
    }),
  },
};

function ours(parts: Omit<OperationParts, 'tag' | 'isForSuperusers'>): Operation {
  return operation({ ...parts, tag: 'keys', isForSuperusers: true });
}

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
  expires: { type: 'string', description: 'From when on the key is refused; empty means never.' },
};

const shown: Readonly<Record<string, Schema>> = {
  id: text,
  ...settings,
  created: text,
  lastUsed: { type: 'string', description: 'To the minute; empty when it never was.' },
};

/** API keys, which programs use in place of a sign-in. */
export const keySchemas: Readonly<Record<string, Schema>> = {
  ApiKey: objectSchema(shown),
  ApiKeyWithKey: objectSchema({ ...shown, key: { type: 'string', description: 'What is sent: `ck_…`.' } }),
  ApiKeyList: listSchema(schemaReference('ApiKey')),
  ApiKeyCreate: objectSchema(settings, ['collections', 'expires']),
};
