// Both engines: an instance is a file or a schema.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { eventually } from '../support/eventually.ts';
import { EventStream } from '../support/event-stream.ts';
import { issueSuperuserToken } from '../support/issue-superuser-token.ts';
import { Receiver, type ReceiverMode } from '../support/receiver.ts';
import { startService, type TestService } from '../support/service.ts';

const openMax = 4;
const count = 12;

/** A service in which few instances can be open, and many have an endpoint. */
async function start(
  t: TestContext,
  mode: ReceiverMode,
): Promise<{ service: TestService; receiver: Receiver }> {
  const receiver = await Receiver.open({ mode });
  const service = await startService(t, { parts: { openInstancesMax: openMax } });
  t.after(() => receiver.close());
  for (let number = 0; number < count; number += 1) {
    const slug = `one${number}`;
    await service.app.data.directory.create(slug, null);
    const token = await service.withInstance(slug, async (instance) => {
      await upsertSuperuser(instance, 'root@example.com', 'correct horse');
      return issueSuperuserToken(instance, 'root@example.com');
    });
    const call = async (path: string, body: object): Promise<void> => {
      const answer = await service.request(`/i/${slug}${path}`, { method: 'POST', token, body });
      assert.equal(answer.status < 300, true, answer.text);
    };
    await call('/api/collections', { name: 'posts', listRule: '', createRule: '', fields: [] });
    await call('/api/webhooks/endpoints', { url: `${receiver.url}${slug}` });
  }
  return { service, receiver };
}

function posts(number: number): string {
  return `/i/one${number % count}/api/collections/posts/records`;
}

test('instances whose receivers hang keep no other instance closed', async (t) => {
  const held = Promise.withResolvers<void>();
  const { service, receiver } = await start(t, { kind: 'held', until: held.promise });
  for (let number = 0; number < count; number += 1)
    assert.equal((await service.request(posts(number), { method: 'POST', body: {} })).status, 201);
  await eventually('deliveries have begun', () => receiver.requests.length >= openMax / 2);
  const statuses = await Promise.all(
    Array.from({ length: 5 * count }, async (_, number) => (await service.request(posts(number))).status),
  );
  assert.deepEqual([...new Set(statuses)], [200]);
  assert.ok(service.app.data.instances.openCount <= openMax);
  held.resolve();
});

test('what is due in an instance that was closed is delivered on time', async (t) => {
  const { service, receiver } = await start(t, { kind: 'status', status: 500 });
  for (let number = 0; number < count; number += 1)
    await service.request(posts(number), { method: 'POST', body: {} });
  const paths = (): ReadonlySet<string> => new Set(receiver.requests.map(({ path }) => path));
  await eventually('each endpoint was tried', () => paths().size === count);
  receiver.mode = { kind: 'ok' };
  const delivered = new Set<string>();
  await eventually(
    'each delivery is delivered',
    () => {
      for (const { path, headers } of receiver.requests)
        if (Number(headers['x-service-attempt']) > 1) delivered.add(path);
      return delivered.size === count;
    },
    60_000,
  );
  assert.ok(service.app.data.instances.openCount <= openMax);
});

test('instances that realtime clients keep open leave room for others', async (t) => {
  const { service } = await start(t, { kind: 'ok' });
  const first = await EventStream.open(t, `${service.url}/i/one0`);
  const second = await service.request('/i/one1/api/realtime');
  assert.deepEqual([second.status, second.headers.get('retry-after')], [503, '1']);
  const statuses = await Promise.all(
    Array.from({ length: 3 * count }, async (_, number) => (await service.request(posts(number))).status),
  );
  assert.deepEqual([...new Set(statuses)], [200]);
  first.close();
  await eventually('there is room', async () => {
    const { status } = await service.request('/i/one1/api/realtime');
    return status === 200;
  });
});
