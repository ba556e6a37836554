import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { listOf } from '../support/webhook-service.ts';
import { NodeGroup, posts, verify } from './node-group.ts';

const records = '/api/collections/posts/records';
const deliveries = '/api/webhooks/deliveries';

test('a batch whose attempt fails while another node takes over is sent again by that node as the same batch', async (t) => {
  const group = await NodeGroup.open(t);
  const a = await group.start();
  await group.signIn(a);
  await group.get(a, 'POST /api/collections', posts);
  const { secret } = await group.get(a, 'POST /api/webhooks/endpoints', {
    url: group.receiver.url,
    timeoutMs: 30_000,
    batch: { max: 2, waitMs: 60_000 },
    schedule: [3_600],
  });
  const { promise: until, resolve: end } = Promise.withResolvers<void>();
  group.receiver.mode = { kind: 'held', until, status: 500 };
  for (const title of ['first', 'second']) await group.get(a, `POST ${records}`, { title });
  await group.receiver.waitForRequests(1);
  group.receiver.mode = { kind: 'ok' };
  const b = await group.start();
  void a.stop();
  await group.divided(b, 1);
  // What comes sooner than in an hour is asked for by hand: one of them brings the batch.
  const { items } = await group.get(b, `GET ${deliveries}`);
  await group.get(b, `POST ${deliveries}/${items[0].id}/retry`);
  end();
  const [before, after] = await group.receiver.waitForRequests(2);
  assert.ok(before && after);
  for (const request of [before, after]) verify(request, secret);
  assert.equal(after.headers['webhook-id'], before.headers['webhook-id']);
  assert.deepEqual(after.body, before.body);
  const filter = encodeURIComponent(`status = 'delivered'`);
  const delivered = await eventually('both are delivered', async () => {
    const page = await group.get(b, `GET ${deliveries}?filter=${filter}`);
    return page.totalItems === 2 ? listOf(page.items) : undefined;
  });
  const batch = { id: String(before.headers['webhook-id']), size: 2 };
  for (const { attempts } of delivered)
    assert.deepEqual(
      listOf(attempts).map((attempt) => attempt.batch),
      [batch, batch],
    );
  assert.equal(group.receiver.requests.length, 2);
});
