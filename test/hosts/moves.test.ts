import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import { EventStream } from '../support/event-stream.ts';
import { Receiver } from '../support/receiver.ts';
import { Random } from '../faults/random.ts';
import { addInstance, idOf, poolOf, posts, startHosts } from './host-stage.ts';

const rounds = 25;

test('an instance that is moved at random while it is written to loses and repeats nothing', async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const random = new Random(seed);
  const receiver = await Receiver.open({ mode: { kind: 'slow', delayMs: 20 } });
  const stage = await startHosts(t, { threads: 3 });
  t.after(() => receiver.close());
  const endpoint = { url: receiver.url, events: ['record.create'], timeoutMs: 30_000 };
  const added = await stage.request('/api/webhooks/endpoints', {
    method: 'POST',
    token: true,
    body: endpoint,
  });
  assert.equal(added.status, 201, added.text);
  const over = new AbortController();
  const written: string[] = [];
  const writers = Array.from({ length: 3 }, async (_, writer) => {
    for (let index = 0; !over.signal.aborted; index += 1) {
      const title = `${writer} ${index}`;
      const { status, text } = await stage.request(posts, { method: 'POST', body: { title } });
      assert.equal(status, 201, text);
      written.push(title);
    }
  });
  for (let round = 0; round < rounds; round += 1) {
    await poolOf(stage).move(idOf(stage, 'default'), random.integer(0, 2));
    await delay(random.integer(0, 60));
  }
  over.abort();
  await Promise.all(writers);
  const list = await stage.request(`${posts}?perPage=1`);
  assert.equal(list.json.totalItems, written.length);
  await eventually('all are sent', () => receiver.requests.length >= written.length);
  const deliveries = receiver.requests.map(({ headers }) => String(headers['webhook-id']));
  assert.equal(new Set(deliveries).size, written.length);
  assert.equal(deliveries.length, written.length);
});

test('a realtime client of an instance that is moved is disconnected, and connects to where it is', async (t) => {
  const stage = await startHosts(t, { threads: 2 });
  const stream = await EventStream.open(t, stage.url);
  const pool = poolOf(stage);
  await pool.move(idOf(stage, 'default'), 0);
  await pool.move(idOf(stage, 'default'), 1);
  await eventually('it is disconnected', () => stream.isOver);
  const again = await EventStream.open(t, stage.url);
  const body = { clientId: again.clientId, subscriptions: ['posts/*'] };
  assert.equal((await stage.request('/api/realtime', { method: 'POST', body })).status, 204);
  await stage.request(posts, { method: 'POST', body: { title: 'a' } });
  const [message] = await again.received(1);
  assert.equal(message?.data.record.title, 'a');
});

test('an instance whose turns take long is named in the log and run apart, and its neighbour stays', async (t) => {
  const stage = await startHosts(t, { threads: 1 });
  const token = await addInstance(stage, 'shop');
  assert.equal((await stage.request('/i/shop/api/collections', { token })).status, 200);
  for (let turn = 0; turn < 12; turn += 1) await stage.fault('after work 150');
  const pool = poolOf(stage);
  await eventually('it is moved', () =>
    stage.log.some(({ message }) => message.startsWith('An instance was moved to a thread of its own')),
  );
  assert.deepEqual(pool.isolated, [idOf(stage, 'default')]);
  assert.equal((await stage.request(posts)).status, 200);
  assert.equal((await stage.request('/i/shop/api/collections', { token })).status, 200);
  const { text } = await stage.request('/metrics', { token: true });
  assert.match(text, /^chancery_long_turns_total (?:1[0-9]|[2-9][0-9])$/m);
});
