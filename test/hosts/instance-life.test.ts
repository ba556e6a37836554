import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { EventStream } from '../support/event-stream.ts';
import { addPost, makeInstance } from '../support/instance-fleet.ts';
import { Receiver } from '../support/receiver.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { startService, type TestService } from '../support/service.ts';
import { masterKey } from '../support/test-config.ts';

const posts = '/i/shop/api/collections/posts/records';
/** Far more than the second that a change takes to be seen, and below what a retry waits. */
const seenMs = 20_000;

async function instance(service: TestService, ...args: readonly string[]): Promise<void> {
  const { code, stderr } = await runInProcess(['instance', ...args, '--data', service.data], {
    environment: { CHANCERY_KEY: masterKey },
  });
  assert.equal(code, 0, stderr);
}

async function statusOf(service: TestService): Promise<number> {
  return (await service.request(posts)).status;
}

/** With threads from the beginning, and with those that a second instance starts. */
for (const threads of ['2', 'auto'])
  test(`a command suspends and deletes an instance that a thread runs (${threads})`, async (t) => {
    const held = Promise.withResolvers<void>();
    const receiver = await Receiver.open({ mode: { kind: 'held', until: held.promise } });
    t.after(() => receiver.close());
    const service = await startService(t, { flags: { 'host-threads': threads } });
    await makeInstance(service, 'shop', { url: receiver.url, timeoutMs: 30_000 });
    await makeInstance(service, 'other');
    await eventually('both can be written', async () => {
      await addPost(service, 'other');
      await addPost(service, 'shop');
      return true;
    });
    const stream = await EventStream.open(t, `${service.url}/i/shop`);
    for (let count = 0; count < 30; count += 1) await addPost(service, 'shop');
    await eventually('attempts are on their way', () => receiver.requests.length > 0);

    await instance(service, 'suspend', 'shop');
    await eventually('it is suspended', async () => (await statusOf(service)) === 403, seenMs);
    await eventually('realtime ends', () => stream.isOver, seenMs);
    receiver.mode = { kind: 'ok' };
    held.resolve();
    await addPost(service, 'other');
    const sent = receiver.requests.length;
    assert.ok(sent < 31, `${sent} were sent`);
    await instance(service, 'resume', 'shop');
    await eventually('it is served', async () => (await statusOf(service)) === 200, seenMs);
    await eventually('all are sent', () => receiver.requests.length === 31);
    const deliveries = new Set(receiver.requests.map(({ headers }) => headers['webhook-id']));
    assert.equal(deliveries.size, 31);

    await instance(service, 'delete', 'shop', '--yes');
    await eventually('it is deleted', async () => (await statusOf(service)) === 404, seenMs);
    await addPost(service, 'other');
    await instance(service, 'restore', 'shop');
    await eventually('it is restored', async () => (await statusOf(service)) === 200, seenMs);
    assert.equal((await service.request(posts)).json.totalItems, 31);
  });

test('what waits in a suspended instance is sent when it is resumed after a restart', async (t) => {
  const receiver = await Receiver.open({ mode: { kind: 'status', status: 500 } });
  t.after(() => receiver.close());
  const flags = { 'host-threads': '2' };
  const first = await startService(t, { flags });
  await makeInstance(first, 'shop', { url: receiver.url });
  await eventually('it is written', async () => {
    await addPost(first, 'shop');
    return true;
  });
  await eventually('it was tried', () => receiver.requests.length > 0);
  await instance(first, 'suspend', 'shop');
  await eventually('it is suspended', async () => (await statusOf(first)) === 403, seenMs);
  await first.stop();
  receiver.mode = { kind: 'ok' };
  const tried = receiver.requests.length;
  const second = await startService(t, { flags, data: first.data });
  assert.equal(await statusOf(second), 403);
  assert.equal(receiver.requests.length, tried);
  await instance(second, 'resume', 'shop');
  await eventually('it is sent', () => receiver.requests.length > tried);
});
