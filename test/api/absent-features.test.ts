import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService } from '../support/service.ts';

const absent: readonly (readonly [path: string, sentence: string])[] = [
  ['/api/sql', 'The SQL console is not offered: superusers of an instance have no access to its engine.'],
  ['/_/extensions.js', 'Extensions of the dashboard are not offered.'],
  ['/_/extensions/one/main.js', 'Extensions of the dashboard are not offered.'],
];

test('a path of the reference whose feature is missing says so with a 404, whatever the method', async (t) => {
  const service = await startService(t);
  for (const [path, message] of absent) {
    for (const method of ['GET', 'POST', 'PATCH', 'DELETE'])
      for (const prefix of ['', '/i/default']) {
        const { status, json, headers } = await service.request(prefix + path, { method });
        assert.equal(status, 404, `${method} ${path}`);
        assert.deepEqual(json, { data: {}, message, status: 404 });
        assert.equal(headers.has('allow'), false);
      }
    const head = await service.request(path, { method: 'HEAD' });
    assert.deepEqual([head.status, head.text], [404, '']);
    assert.equal((await service.request(path, { method: 'OPTIONS' })).status, 204);
  }
});

test('paths beside those, and those of an unknown instance, are just not found', async (t) => {
  const service = await startService(t);
  const beside = ['/api/realtimes', '/api/realtime/', '/api/files', '/api/files/', '/_a'];
  const unknown = absent.map(([path]) => `/i/nowhere${path}`);
  for (const path of [...beside, ...unknown, '/api/collections/auth-with-oauth2/x', '/api/sql/x']) {
    const { status, json } = await service.request(path);
    assert.equal(status, 404, path);
    assert.equal(json.message, "The requested resource wasn't found.", path);
  }
});

test('the SDK is told which feature is missing', async (t) => {
  const pb = await superuserSdk(await startService(t));
  const refused = await refusalOf(pb.sql.run('SELECT 1'));
  assert.deepEqual(
    [refused.status, refused.message],
    [404, 'The SQL console is not offered: superusers of an instance have no access to its engine.'],
  );
});
