import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { HostPool } from '../../src/hosts/host-pool.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { startService, type TestService } from '../support/service.ts';
import { addInstance, posts } from './host-stage.ts';

const isThreaded = ({ app }: TestService): boolean => {
  assert.ok(app.hosts.host instanceof HostPool);
  return app.hosts.host.isThreaded;
};

const definition = {
  name: 'posts',
  listRule: '',
  createRule: '',
  fields: [{ name: 'title', type: 'text' }],
};

test('one instance is run by the thread that takes requests', async (t) => {
  const service = await startService(t, { flags: { 'host-threads': 'auto' } });
  const made = await service.request('/api/collections', { method: 'POST', token: true, body: definition });
  assert.equal(made.status, 200, made.text);
  assert.equal((await service.request(posts, { method: 'POST', body: { title: 'a' } })).status, 201);
  assert.equal(isThreaded(service), false);
  const { text } = await service.request('/metrics', { token: true });
  assert.match(text, /^chancery_instances_open 1$/m);
});

test('with the second instance threads run both, and no change or webhook of the first is lost or repeated', async (t) => {
  const receiver = await Receiver.open({ mode: { kind: 'slow', delayMs: 20 } });
  t.after(() => receiver.close());
  const service = await startService(t, { flags: { 'host-threads': 'auto' } });
  await service.request('/api/collections', { method: 'POST', token: true, body: definition });
  const endpoint = { url: receiver.url, events: ['record.create'], timeoutMs: 30_000 };
  const added = await service.request('/api/webhooks/endpoints', {
    method: 'POST',
    token: true,
    body: endpoint,
  });
  assert.equal(added.status, 201, added.text);
  const stream = await EventStream.open(t, service.url);
  const over = new AbortController();
  const written: string[] = [];
  const writers = Array.from({ length: 3 }, async (_, writer) => {
    for (let index = 0; !over.signal.aborted; index += 1) {
      const title = `${writer} ${index}`;
      const { status, text } = await service.request(posts, { method: 'POST', body: { title } });
      assert.equal(status, 201, text);
      written.push(title);
    }
  });
  await eventually('some are written', () => written.length > 20);
  const token = await addInstance(service, 'shop');
  // Its first answers come from this thread, without waiting for others to start.
  assert.equal((await service.request('/i/shop/api/collections', { token })).status, 200);
  await eventually('threads run them', () => isThreaded(service));
  await eventually('realtime clients connect again', () => stream.isOver);
  const before = written.length;
  await eventually('writes go on', () => written.length > before + 20);
  over.abort();
  await Promise.all(writers);
  assert.equal((await service.request('/i/shop/api/collections', { token })).status, 200);
  const list = await service.request(`${posts}?perPage=1`);
  assert.equal(list.json.totalItems, written.length);
  await eventually('all are sent', () => receiver.requests.length >= written.length);
  // A repeated one would come with those that wait.
  await delay(50);
  const ids = receiver.requests.map(({ headers }) => String(headers['webhook-id']));
  assert.equal(new Set(ids).size, written.length);
  assert.equal(ids.length, written.length);
});

test('a directory with several instances starts no thread before a second one is used', async (t) => {
  const first = await startService(t, { flags: { 'host-threads': 'auto' } });
  const token = await addInstance(first, 'shop');
  await first.stop();
  const service = await startService(t, { flags: { 'host-threads': 'auto' }, data: first.data });
  assert.equal((await service.request('/i/shop/api/collections', { token })).status, 200);
  assert.equal(isThreaded(service), false);
  assert.equal((await service.request('/api/settings', { token: true })).status, 200);
  await eventually('threads run both', () => isThreaded(service));
  assert.equal((await service.request('/i/shop/api/collections', { token })).status, 200);
});

test('threads that cannot be started leave the instances where they are', async (t) => {
  const broken = new URL('no-such-host-worker.ts', import.meta.url);
  const parts = { hostThreads: { file: broken } };
  const service = await startService(t, { flags: { 'host-threads': 'auto' }, parts });
  const tokens = new Map<string, string>();
  for (const slug of ['one', 'two']) tokens.set(slug, await addInstance(service, slug));
  for (const [slug, token] of tokens)
    assert.equal((await service.request(`/i/${slug}/api/collections`, { token })).status, 200);
  await eventually('it is logged', () =>
    service.log.some(({ message }) => message === 'A host thread failed.'),
  );
  for (const [slug, token] of tokens)
    assert.equal((await service.request(`/i/${slug}/api/collections`, { token })).status, 200);
  assert.equal(isThreaded(service), false);
});
