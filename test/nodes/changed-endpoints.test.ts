import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { App } from '../../src/app.ts';
import { toTimestamp } from '../../src/base/timestamp.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { NodeGroup, posts } from './node-group.ts';

const endpoints = '/api/webhooks/endpoints';
const records = '/api/collections/posts/records';

/** Two nodes that share the work, both with all endpoints that there are in their memory. */
async function openPair(
  t: TestContext,
  clock?: MovableClock,
): Promise<{ readonly group: NodeGroup; readonly a: App; readonly b: App }> {
  const group = await NodeGroup.open(t, clock);
  const [a, b] = [await group.start(), await group.start()];
  await group.divided(a, 2);
  await group.signIn(a);
  await group.get(a, 'POST /api/collections', posts);
  for (const node of [a, b]) await group.get(node, `POST ${records}`, { title: 'before all' });
  return { group, a, b };
}

test('an endpoint that one node has made, changed or deleted is so on another at once', async (t) => {
  const { group, a, b } = await openPair(t);
  const { id, secret } = await group.get(a, `POST ${endpoints}`, { url: group.receiver.url });
  assert.equal((await group.get(b, `GET ${endpoints}/${id}`)).id, id);
  assert.deepEqual(await group.get(b, `GET ${endpoints}/${id}/secret`), { secret });
  await group.get(a, `PATCH ${endpoints}/${id}`, { description: 'changed' });
  assert.equal((await group.get(b, `GET ${endpoints}/${id}`)).description, 'changed');
  const page = await group.get(b, `GET ${endpoints}`);
  assert.deepEqual([page.totalItems, page.items.length, page.items[0]?.description], [1, 1, 'changed']);
  await group.get(a, `DELETE ${endpoints}/${id}`);
  assert.equal((await group.ask(b, `GET ${endpoints}/${id}`)).status, 404);
  assert.equal((await group.ask(b, `GET ${endpoints}/${id}/secret`)).status, 404);
});

test('what happens after an endpoint was sent elsewhere goes there, whichever node has changed it', async (t) => {
  // Which stands still: clocks of nodes may say the same at several changes.
  const { group, a, b } = await openPair(t, new MovableClock());
  const { id } = await group.get(a, `POST ${endpoints}`, { url: group.receiver.url });
  for (const [index, node] of [a, b, a, b].entries()) {
    const url = group.receiver.urlAt('127.0.0.1', `/${index}`);
    await group.get(node, `PATCH ${endpoints}/${id}`, { url });
    await group.get(node, `POST ${records}`, { title: 'a' });
    const requests = await group.receiver.waitForRequests(index + 1);
    assert.equal(requests.at(-1)?.path, `/${index}`);
  }
});

test('what happens after an endpoint was paused waits until it is resumed, whichever node has paused it', async (t) => {
  const { group, a, b } = await openPair(t);
  const { id } = await group.get(a, `POST ${endpoints}`, { url: group.receiver.url });
  // What it gets is sent in the same turn as what the paused one would get.
  await group.get(a, `POST ${endpoints}`, { url: group.receiver.urlAt('127.0.0.1', '/witness') });
  for (const [index, node] of [a, b, a, b].entries()) {
    await group.get(node, `POST ${endpoints}/${id}/pause`);
    await group.get(node, `POST ${records}`, { title: 'a' });
    await group.receiver.waitForRequests(index * 2 + 1);
    const resumedAt = toTimestamp(Date.now());
    await group.get(node, `POST ${endpoints}/${id}/resume`);
    await group.receiver.waitForRequests(index * 2 + 2);
    const of = encodeURIComponent(`endpoint='${id}'`);
    const { attempts } = await eventually('its end', async () => {
      const { items } = await group.get(node, `GET /api/webhooks/deliveries?sort=-created&filter=${of}`);
      return items[0].status === 'delivered' ? items[0] : undefined;
    });
    assert.ok(attempts[0].started >= resumedAt, `sent at ${attempts[0].started}, resumed at ${resumedAt}`);
  }
});

test('what waits for an endpoint is sent as soon as it is resumed, whichever node has resumed it', async (t) => {
  const clock = new MovableClock();
  const { group, a, b } = await openPair(t, clock);
  const { id } = await group.get(a, `POST ${endpoints}`, { url: group.receiver.url });
  for (const [index, node] of [a, b, a, b, a, b].entries()) {
    await group.get(node, `POST ${endpoints}/${id}/pause`);
    await group.get(node, `POST ${records}`, { title: 'a' });
    // Each node looks at everything once more, and then, as the clock stands still, only at what has become due since.
    clock.move(10_000);
    await group.get(node, `POST ${endpoints}/${id}/resume`);
    await eventually('what waited', () => group.receiver.requests.length === index + 1);
  }
});

test('an endpoint that is away is probed as soon as somebody asks for it, whichever node is asked', async (t) => {
  const { group, a, b } = await openPair(t, new MovableClock());
  const { receiver } = group;
  const { id } = await group.get(a, `POST ${endpoints}`, { url: receiver.url, maxInFlight: 1 });
  const pending = `/api/webhooks/deliveries?filter=${encodeURIComponent("status='pending'")}`;
  const asks: readonly ((node: App) => Promise<unknown>)[] = [
    (node) => group.get(node, `POST ${endpoints}/${id}/resume`),
    (node) => group.get(node, `PATCH ${endpoints}/${id}`, { headers: { 'x-key': node === a ? 'a' : 'b' } }),
    (node) => group.get(node, `POST ${endpoints}/${id}/test`),
    async (node) => {
      const { items } = await group.get(node, `GET ${pending}&perPage=1`);
      await group.get(node, `POST /api/webhooks/deliveries/${items[0].id}/retry`);
    },
  ];
  for (const ask of asks)
    for (const node of [a, b]) {
      receiver.mode = { kind: 'status', status: 503 };
      for (let count = 0; count < 6; count += 1) await group.get(node, `POST ${records}`, { title: 'a' });
      await eventually('it is away', async () => {
        const { items } = await group.get(node, 'GET /api/webhooks/lanes');
        return items[0].state === 'open';
      });
      receiver.mode = { kind: 'ok' };
      await ask(node);
      await eventually('all is delivered', async () => {
        return (await group.get(node, `GET ${pending}`)).totalItems === 0;
      });
    }
});
