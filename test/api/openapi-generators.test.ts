import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';
import { generatorProblems } from '../support/generator-problems.ts';
import { startService } from '../support/service.ts';

const written: unknown = JSON.parse(
  readFileSync(new URL('../../spec/openapi.json', import.meta.url), 'utf8'),
);
assert.ok(isJsonObject(written));
const document = written;

/** The document with a schema, an operation or a webhook more. */
function planted(parts: {
  readonly schemas?: JsonObject;
  readonly operation?: JsonObject;
  readonly webhook?: JsonObject;
}): JsonObject {
  // The cast holds: every OpenAPI document of ours has these parts.
  const copy = structuredClone(document) as {
    readonly paths: Record<string, unknown>;
    readonly components: { readonly schemas: Record<string, unknown> };
    webhooks?: unknown;
  } & JsonObject;
  Object.assign(copy.components.schemas, parts.schemas);
  if (parts.operation) copy.paths['/planted'] = { post: parts.operation };
  if (parts.webhook) copy.webhooks = { planted: { post: parts.webhook } };
  return copy;
}

const text = { type: 'string' };
const log = { $ref: '#/components/schemas/Log' };
const page = { name: 'page', in: 'query', schema: text };

/** A mistake of each kind, and what is reported. */
const mistakes: readonly (readonly [parts: Parameters<typeof planted>[0], problem: string])[] = [
  [{ schemas: { mail_list: text } }, 'MailList, mail_list: the same name in another case'],
  [
    { operation: { operationId: 'sign_up' }, webhook: { operationId: 'signUp' } },
    'sign_up, signUp: the same name in another case',
  ],
  [{ schemas: { '1st': text } }, '1st: begins with no letter'],
  [{ schemas: { Record: text } }, 'Record: is reserved'],
  [{ operation: { operationId: 'delete' } }, 'delete: is reserved'],
  [{ webhook: { operationId: 'planted', tags: ['logs'] } }, 'logs: a tag of routes and of webhooks'],
  [
    { operation: { operationId: 'planted', parameters: [page, { ...page, name: 'Page', in: 'header' }] } },
    'planted page, Page: the same parameter in another case',
  ],
  [
    {
      operation: {
        operationId: 'planted',
        requestBody: {
          content: { 'multipart/form-data': { schema: { type: 'object', properties: { a: text } } } },
        },
      },
    },
    'planted: a form with members',
  ],
  [
    { schemas: { Planted: { $ref: '#/components/schemas/Nothing' } } },
    '#/components/schemas/Planted: a reference to nothing',
  ],
  [{ schemas: { Planted: { type: 'array' } } }, '#/components/schemas/Planted: an array without items'],
  [{ schemas: { Planted: { enum: ['a'] } } }, '#/components/schemas/Planted: a choice of another type'],
  [{ schemas: { Planted: { ...text, const: 1 } } }, '#/components/schemas/Planted: a choice of another type'],
  [
    { schemas: { Planted: { ...text, enum: ['ü'] } } },
    '#/components/schemas/Planted: a choice without a name',
  ],
  [
    { schemas: { Planted: { ...text, enum: ['a', 'A'] } } },
    '#/components/schemas/Planted: a, A: the same choice in another case',
  ],
  [
    { schemas: { Planted: { oneOf: [log, text], default: '' } } },
    '#/components/schemas/Planted: a default of a union',
  ],
  [
    { schemas: { Planted: { anyOf: [log, { type: 'array', items: log }] } } },
    '#/components/schemas/Planted: a union that names a schema twice',
  ],
  [
    { schemas: { Planted: { oneOf: [{ type: 'object' }], discriminator: { propertyName: 'type' } } } },
    '#/components/schemas/Planted: a discriminator of schemas without names',
  ],
  [
    { schemas: { Planted: { type: 'object', properties: { is_a: text, isA: text } } } },
    '#/components/schemas/Planted: is_a, isA: the same member in another case',
  ],
];

test('generators of clients find nothing in the document that any of them cannot take', () => {
  assert.deepEqual(generatorProblems(document), []);
});

test('each mistake that has kept a client from compiling is found', () => {
  for (const [parts, problem] of mistakes) assert.deepEqual(generatorProblems(planted(parts)), [problem]);
});

test('the document of an instance is as good, whatever collections, fields and values are called', async (t) => {
  const service = await startService(t);
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await service.request(path, { method, token: true, ...(body && { body }) });
    assert.ok(answer.status < 300, answer.text);
    return answer.json;
  };
  const names = ['_users', 'user_s', '1st', 'c1st', '_', 'class', 'Any', 'mail', 'ByAlias', 'record_s'];
  const values = ['a', 'A', 'ä', '+1', '-1', '1', '日本', '語', 'a_1', ' '];
  const fields = [
    { name: 'kind', type: 'select', values },
    { name: 'kinds', type: 'select', values, maxSelect: 3 },
    { name: 'class', type: 'file' },
    { name: 'count', type: 'number', min: 1, max: 3 },
    { name: 'agreed', type: 'bool', required: true },
  ];
  for (const name of names) await ask('POST', '/api/collections', { name, fields });
  const { components, paths, ...described } = await ask('GET', '/api/openapi.json');
  assert.deepEqual(generatorProblems({ components, paths, ...described }), []);
  const ofUsers: unknown = paths['/api/collections/users/records'].get.operationId;
  const ofOthers: unknown = paths['/api/collections/_users/records'].get.operationId;
  assert.deepEqual([ofUsers, ofOthers], ['listRecords_users', 'listRecords__users2']);
  assert.deepEqual(components.schemas['users.Record'].properties.collectionName.const, 'users');
});
