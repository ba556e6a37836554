import { apiKeyLimits } from '../../auth/keys/api-key.ts';
import { keyScopes } from '../../rules/key-scope.ts';
import type { Operation, Paths, Schema } from './document.ts';
import { listSchema } from './list-schema.ts';
import { objectSchema } from './object-schema.ts';
import { emptyAnswer, jsonAnswer, operation, type OperationParts } from './operation.ts';
import { listParameters } from './parameters.ts';
import { schemaReference } from './reference.ts';

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
