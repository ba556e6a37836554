// Both engines: each refuses other values.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';
import { inSample } from '../support/sample.ts';
import { startService } from '../support/service.ts';

/** A member of a body, at any depth: the body that has this text in its place and nothing else. */
type Place = (json: string) => string;

/** What code that trusts a value would call, read or copy; and what is of another type than it should be. */
const hostile: readonly string[] = [
  '{"toString":1,"valueOf":1,"toJSON":1,"then":1,"length":-1,"get":null,"size":9}',
  '{"__proto__":{"title":"polluted"},"constructor":{"prototype":{"title":"polluted"}}}',
  '["__proto__","constructor",null,[[]],{"toString":null}]',
  '"__proto__"',
  '-1e300',
  'null',
];
const depthMax = 4;

/** Deeper than that it is the same again. */
function placesIn(schema: unknown, document: JsonObject, depth = 0): readonly Place[] {
  if (!isJsonObject(schema) || depth > depthMax) return [];
  if (typeof schema['$ref'] === 'string') return placesIn(found(schema['$ref'], document), document, depth);
  const { properties, items, anyOf, oneOf, allOf } = schema;
  const members = isJsonObject(properties) ? Object.entries(properties) : [];
  return [
    ...members.flatMap(([name, inner]) =>
      [(json: string) => json, ...placesIn(inner, document, depth + 1)].map(
        (place): Place =>
          (json) =>
            `{${JSON.stringify(name)}:${place(json)}}`,
      ),
    ),
    ...placesIn(items, document, depth + 1).map(
      (place): Place =>
        (json) =>
          `[${place(json)}]`,
    ),
    ...[anyOf, oneOf, allOf].flat().flatMap((one) => placesIn(one, document, depth)),
  ];
}

function found(reference: string, document: JsonObject): unknown {
  const names = reference.replace('#/', '').split('/');
  return names.reduce<unknown>((inside, name) => (isJsonObject(inside) ? inside[name] : undefined), document);
}

function schemaOf(operation: unknown): unknown {
  const path = ['requestBody', 'content', 'application/json', 'schema'];
  return path.reduce<unknown>((inside, name) => (isJsonObject(inside) ? inside[name] : undefined), operation);
}

test('H-48 H-60 no value of any member of any body, whoever sends it, is more than a refusal or data', async (t) => {
  const document: unknown = JSON.parse(
    readFileSync(new URL('../../spec/openapi.json', import.meta.url), 'utf8'),
  );
  assert.ok(isJsonObject(document) && isJsonObject(document['paths']));
  const service = await startService(t);
  const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
  const definition = { name: 'posts', ...open, fields: [{ name: 'title', type: 'text' }] };
  await service.request('/api/collections', { method: 'POST', token: true, body: definition });
  const made = await service.request('/api/records/posts', { method: 'POST', body: {} });
  const endpoint = { method: 'POST', token: true, body: { url: 'http://127.0.0.1:9/' } } as const;
  const told = await service.request('/api/webhooks/endpoints', endpoint);
  const failed: string[] = [];
  let asked = 0;
  for (const [pattern, methods] of Object.entries(document['paths'])) {
    assert.ok(isJsonObject(methods));
    const id: string = pattern.includes('webhooks') ? told.json.id : made.json.id;
    const collection = /\/(?:auth|request|confirm|impersonate)\b/.test(pattern) ? 'users' : 'posts';
    const path = pattern.replace('{collection}', collection).replace('{id}', id);
    for (const [method, operation] of Object.entries(methods))
      for (const place of placesIn(schemaOf(operation), document))
        for (const json of hostile.slice(0, inSample(3, hostile.length))) {
          asked += 1;
          const body = place(json);
          const headers = { 'content-type': 'application/json', authorization: service.superuser.token };
          const options = { method: method.toUpperCase(), headers, body };
          const { status } = await fetch(service.url + path, options);
          if (status >= 500) failed.push(`${status} ${method} ${path} ${body}`);
        }
  }
  assert.ok(asked > 1_000, String(asked));
  assert.deepEqual(failed, []);
  assert.equal(Reflect.get({}, 'title'), undefined);
});
