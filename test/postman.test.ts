import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type {
  Folder,
  Item,
  OpenapiDocument,
  PostmanCollection,
} from '../tools/postman/postman-collection.ts';

const document: OpenapiDocument = readJson('../spec/openapi.json');
const collection: PostmanCollection = readJson('../spec/postman.json');
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);
const items = collection.item.flatMap(({ item }) => item);

function readJson(path: string) {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
}

test('each operation is one request, in the folder of its first tag', () => {
  const expected = operations.map(
    ({ path, method, operation: { operationId, tags } }) =>
      `${operationId} ${tags[0]} ${method} {{baseUrl}}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
  );
  const found = collection.item.flatMap((folder) =>
    folder.item.map(({ id, request }) => `${id} ${folder.name} ${request.method} ${request.url.raw}`),
  );
  assert.deepEqual(found.toSorted(), expected.toSorted());
});

test('the collection has the form of version 2.1', () => {
  assert.match(collection.info.schema, /\/collection\/v2\.1\.0\/collection\.json$/);
  assert.ok(collection.info.name !== '');
  assert.deepEqual(
    collection.variable.map(({ key }) => key),
    ['baseUrl', 'token'],
  );
  assert.deepEqual(collection.auth, {
    type: 'bearer',
    bearer: [{ key: 'token', value: '{{token}}', type: 'string' }],
  });
  collection.item.forEach(checkFolder);
  assert.equal(new Set(items.map(({ id }) => id)).size, items.length);
});

function checkFolder({ name, item, ...rest }: Folder): void {
  assert.ok(name !== '' && item.length > 0, name);
  assert.deepEqual(
    Object.keys(rest).filter((member) => member !== 'description'),
    [],
  );
  item.forEach(checkItem);
}

function checkItem({ id, name, request }: Item): void {
  assert.ok(name !== '', id);
  assert.match(request.method, /^[A-Z]+$/);
  const { raw, host, path, query = [], variable = [] } = request.url;
  assert.equal(raw, [...host, ...path].join('/'));
  const names = path.filter((segment) => segment.startsWith(':')).map((segment) => segment.slice(1));
  assert.deepEqual(variable.map(({ key }) => key).toSorted(), names.toSorted(), id);
  for (const { key, value, disabled } of [...query, ...request.header]) {
    assert.equal(typeof value, 'string', `${id} ${key}`);
    assert.ok(key === 'Content-Type' || disabled === true, `${id} sends ${key} unasked`);
  }
  if (request.body === undefined) return;
  assert.equal(request.body.mode, 'raw');
  assert.doesNotThrow(() => JSON.parse(request.body?.raw ?? ''), id);
}

test('each body of JSON has an example that its schema accepts', () => {
  const ajv = new Ajv2020({ strict: false, formats: { email: /@/, uri: /^https?:/ } });
  ajv.addSchema({ $id: 'openapi', ...document });
  for (const { path, method, operation } of operations) {
    const { operationId: id, requestBody } = operation;
    const item = items.find((one) => one.id === id);
    assert.equal(
      item?.request.body !== undefined,
      requestBody?.content['application/json'] !== undefined,
      id,
    );
    if (item?.request.body === undefined) continue;
    const pointer = [
      'paths',
      path,
      method.toLowerCase(),
      'requestBody',
      'content',
      'application/json',
      'schema',
    ];
    const encoded = pointer.map((part) =>
      encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')),
    );
    const isValid = ajv.compile({ $ref: `openapi#/${encoded.join('/')}` });
    assert.ok(isValid(JSON.parse(item.request.body.raw)), `${id}: ${ajv.errorsText(isValid.errors)}`);
  }
});
