import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';
import { startService } from '../support/service.ts';

/** No member of any body is spelt nearly so: then the answer lists all that there are. */
const unknown = 'zzzzzzzzzzzz';

function resolved(schema: unknown, document: JsonObject): JsonObject {
  assert.ok(isJsonObject(schema));
  const reference = schema['$ref'];
  if (typeof reference !== 'string') return schema;
  const names = reference.replace('#/', '').split('/');
  const found = names.reduce<unknown>(
    (inside, name) => (isJsonObject(inside) ? inside[name] : undefined),
    document,
  );
  return { ...resolved(found, document), ...schema, $ref: undefined };
}

test('a body that refuses unknown members knows exactly those that are described', async (t) => {
  const document: unknown = JSON.parse(
    readFileSync(new URL('../../spec/openapi.json', import.meta.url), 'utf8'),
  );
  assert.ok(isJsonObject(document) && isJsonObject(document['paths']));
  const service = await startService(t);
  const endpoint = { method: 'POST', token: true, body: { url: 'http://127.0.0.1:9/' } } as const;
  const { id } = (await service.request('/api/webhooks/endpoints', endpoint)).json;
  const strict: string[] = [];
  for (const [pattern, methods] of Object.entries(document['paths'])) {
    assert.ok(isJsonObject(methods));
    const path = pattern.replace('{collection}', 'users').replace('{id}', id).replace('{name}', 'mirror');
    for (const [method, operation] of Object.entries(methods)) {
      const at = ['requestBody', 'content', 'application/json', 'schema'];
      const schema = at.reduce<unknown>(
        (inside, name) => (isJsonObject(inside) ? inside[name] : undefined),
        operation,
      );
      if (schema === undefined) continue;
      const options = { method: method.toUpperCase(), token: true, body: { [unknown]: 1 } } as const;
      const answer = await service.request(path, options);
      const problem = answer.json?.data?.[unknown];
      if (problem?.code !== 'validation_unknown_field') continue;
      const [, list = ''] = /Expected (.*)\.$/.exec(String(problem.message)) ?? [];
      const { properties } = resolved(schema, document);
      const where = `${method} ${pattern}`;
      // The settings are a tree, of which the decoder knows the names from their defaults.
      if (!isJsonObject(properties)) continue;
      const written = Object.entries(properties).filter(
        ([, member]) => !isJsonObject(member) || member['readOnly'] !== true,
      );
      assert.deepEqual(list.split(', ').toSorted(), written.map(([name]) => name).toSorted(), where);
      strict.push(where);
    }
  }
  t.diagnostic(strict.join(', '));
  assert.ok(strict.length >= 10, strict.join(', '));
});
