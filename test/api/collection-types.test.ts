// Both engines: the definitions are read from the tables of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { remoteRun } from '../support/command-stage.ts';
import { makeKey } from '../support/make-key.ts';
import { startService, type TestService } from '../support/service.ts';

const types = '/api/collections/meta/types';

async function make(service: TestService, definition: object): Promise<void> {
  const { status, text } = await service.request('/api/collections', {
    method: 'POST',
    token: true,
    body: definition,
  });
  assert.equal(status, 200, text);
}

test('types are downloaded as the command writes them, also beside a collection named meta', async (t) => {
  const service = await startService(t);
  await make(service, {
    name: 'meta',
    fields: [{ name: 'kind', type: 'select', values: ['a\u202Eb', 'c'] }],
  });
  const { status, headers, text } = await service.request(types, { token: true });
  assert.equal(status, 200, text);
  assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(headers.get('content-disposition'), 'attachment; filename="chancery-types.ts"');
  assert.equal(text, (await remoteRun(service)(['types'])).stdout);
  assert.match(text, /export interface MetaRecord \{[^}]*kind: "a\\u202eb" \| "c" \| "";/);
  assert.doesNotMatch(text, /_superusers/);
  assert.equal((await service.request('/api/collections/meta', { token: true })).json.name, 'meta');
});

test('types need the scope of definitions', async (t) => {
  const service = await startService(t);
  const { key } = await makeKey(service, ['collections:read']);
  const whole = await service.request(types, { token: true });
  assert.equal((await service.request(types, { token: key })).text, whole.text);
  const other = await makeKey(service, ['records:read']);
  assert.equal((await service.request(types, { token: other.key })).status, 403);
});

test('types of more fields than one answer may have are rejected', async (t) => {
  const service = await startService(t);
  const fields = Array.from({ length: 490 }, (_, at) => ({ name: `f${at}`, type: 'bool' }));
  const collections = Array.from({ length: 11 }, (_, at) => ({ name: `wide${at}`, fields }));
  const { status, text } = await service.request('/api/collections/import', {
    method: 'PUT',
    token: true,
    body: { collections },
  });
  assert.equal(status, 204, text);
  const refused = await service.request(types, { token: true });
  assert.equal(refused.status, 400);
  assert.match(refused.json.message, /too many fields/);
});
