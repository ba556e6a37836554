import assert from 'node:assert/strict';
import { Session } from 'node:inspector/promises';
import { test } from 'node:test';
import { addInstance, posts, startHosts } from './host-stage.ts';

/** What works on the data of a tenant: rules, queries, JSON, definitions, webhooks. */
const tenantCode =
  /\/src\/(?:access|auth|collections|definitions|deliveries|dispatch|endpoints|fields|filters|query|records|secrets|settings|base\/json\.ts)/;

test('the front runs no rule, no query and no JSON of a tenant, whatever is asked for', async (t) => {
  const stage = await startHosts(t);
  const token = await addInstance(stage, 'shop');
  const rules = { listRule: "title != 'x'", createRule: "@request.body.title != ''" };
  const definition = { name: 'orders', ...rules, fields: [{ name: 'title', type: 'text' }] };
  await stage.request('/i/shop/api/collections', { method: 'POST', token, body: definition });
  const session = new Session();
  session.connect();
  t.after(() => session.disconnect());
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  for (const [path, of] of [
    [posts, stage.superuser.token],
    ['/i/shop/api/collections/orders/records', token],
  ] as const) {
    const created = await stage.request(path, { method: 'POST', token: of, body: { title: 'a' } });
    assert.equal(created.status, 201, created.text);
    const list = `${path}?filter=${encodeURIComponent("title ~ 'a' && created > '2000-01-01'")}&sort=-title&fields=id`;
    assert.equal((await stage.request(list)).json.items.length, 1);
    assert.equal((await stage.request(path, { method: 'POST', body: '{"title": ' })).status, 400);
    const record = `${path}/${created.json.id}`;
    assert.equal(
      (await stage.request(record, { method: 'PATCH', token: of, body: { title: 'b' } })).status,
      200,
    );
    assert.equal((await stage.request(record, { method: 'DELETE', token: of })).status, 204);
  }
  assert.equal((await stage.request('/api/settings', { token: true })).status, 200);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const run = result.flatMap(({ url, functions }) =>
    tenantCode.test(url)
      ? functions.flatMap(({ functionName, ranges }) =>
          functionName !== '' && (ranges[0]?.count ?? 0) > 0
            ? [`${url.replace(/.*\/src\//, '')} ${functionName}`]
            : [],
        )
      : [],
  );
  assert.deepEqual(run, []);
  // The search itself finds what is run here.
  assert.ok(
    result.some(({ url, functions }) => url.includes('/src/hosts/host-pool.ts') && functions.length > 0),
  );
});
