import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import PocketBase from 'pocketbase';
import { eventually } from '../support/eventually.ts';
import { serveMain, type ServingMain } from '../support/main-process.ts';
import { Receiver, type ReceiverMode } from '../support/receiver.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface Delivery {
  readonly id: string;
  readonly status: string;
  readonly attempts: readonly unknown[];
}

interface Stage {
  readonly data: string;
  readonly serving: ServingMain;
  readonly pb: PocketBase;
  readonly receiver: Receiver;
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`after ${signal} a request that has begun is answered, no other is taken, and the exit code is 0`, async (t) => {
    const { serving, pb } = await setUp(t, { kind: 'ok' });
    const request = await beginCreate(pb, serving.url);
    const kept = await openConnection(t, serving.url);

    serving.process.kill(signal);
    await serving.process.waitForLog(new RegExp(`^${signal}: stopping`));
    await eventually('new connections are refused', () => isRefused(serving.url));
    assert.equal(serving.process.hasEnded, false);
    const answer = await request.finish();
    assert.match(answer, /^HTTP\/1\.1 201 Created\r\n/);
    assert.match(answer, /"title":"slow"/);

    // A kept connection is no reason to wait: requests have 10 s to end, and here all of them have ended.
    await eventually('the process ends', () => serving.process.hasEnded, 7_000);
    const { code, stderr } = await serving.process.ended;
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    assert.equal(kept.destroyed || kept.readableEnded, true);
    assert.match(String(serving.process.logLines().at(-1)?.['msg']), /Stopped/);
  });
}

test('a server whose log nobody reads any more stops as well', async (t) => {
  const serving = await serveMain(t, temporaryFolder(t));
  serving.process.closeLog();
  serving.process.kill('SIGTERM');
  const { code, stderr } = await serving.process.ended;
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
});

test('a webhook that is in flight at SIGTERM is settled: not sent again at the next start', async (t) => {
  const { serving, pb, receiver, data } = await setUp(t, { kind: 'slow', delayMs: 700 });
  await pb.collection('posts').create({ title: 'told' });
  await receiver.waitForRequests(1);
  serving.process.kill('SIGTERM');
  const { code } = await serving.process.ended;
  assert.equal(code, 0);

  const again = await serveMain(t, data);
  const [delivery] = await listDeliveries(await signIn(again.url));
  assert.equal(delivery?.status, 'delivered');
  assert.equal(delivery.attempts.length, 1);
  assert.equal(receiver.requests.length, 1);
});

test('a webhook that outlasts --stop-timeout holds nothing up, stays pending and is sent at the next start', async (t) => {
  const stage = await setUp(t, { kind: 'never answers' }, ['--stop-timeout', '0']);
  const { serving, pb, receiver, data } = stage;
  await pb.collection('posts').create({ title: 'told twice' });
  await receiver.waitForRequests(1);
  serving.process.kill('SIGTERM');
  const { code } = await serving.process.ended;
  assert.equal(code, 0);

  receiver.mode = { kind: 'ok' };
  const again = await serveMain(t, data);
  const [first, second] = await receiver.waitForRequests(2);
  assert.deepEqual(second?.body, first?.body);
  assert.equal(second?.headers['webhook-id'], first?.headers['webhook-id']);
  const pb2 = await signIn(again.url);
  await eventually('the delivery is settled', async () => {
    const [delivery] = await listDeliveries(pb2);
    return delivery?.status === 'delivered';
  });
});

for (const second of ['SIGTERM', 'SIGINT'] as const) {
  test(`after SIGTERM, ${second} ends the process at once`, async (t) => {
    const { serving, pb, receiver } = await setUp(t, { kind: 'never answers' });
    await pb.collection('posts').create({ title: 'never told' });
    await receiver.waitForRequests(1);
    serving.process.kill('SIGTERM');
    await serving.process.waitForLog(/a second signal stops at once/);
    serving.process.kill(second);
    const { signal, stdout } = await serving.process.ended;
    assert.equal(signal, second);
    assert.doesNotMatch(stdout, /Stopped/);
  });
}

test('a signal before anything was asked of it stops a server cleanly', async (t) => {
  const { process: server } = await serveMain(t, temporaryFolder(t));
  server.kill('SIGINT');
  const { code, stderr } = await server.ended;
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
});

test('SIGUSR1 opens no inspector, and the server answers on', async (t) => {
  const { process: server, url } = await serveMain(t, temporaryFolder(t));
  server.kill('SIGUSR1');
  // The inspector opens on a thread of its own: it has had its time when requests were answered for as long as this.
  const endMs = performance.now() + 500;
  while (performance.now() < endMs) assert.equal((await fetch(`${url}/api/health/live`)).status, 200);
  server.kill('SIGTERM');
  const { code, stderr } = await server.ended;
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
});

test('an answer that is on its way to a slow reader at SIGTERM arrives whole', async (t) => {
  const { serving, pb } = await setUp(t, { kind: 'ok' });
  await pb.collections.update('posts', {
    listRule: '',
    fields: [{ name: 'title', type: 'text', max: 4e6 }],
  });
  for (const letter of ['a', 'b', 'c', 'd']) {
    await pb.collection('posts').create({ title: letter.repeat(3e6) }, { requestKey: null });
  }
  // Not read from here on: more than the system's buffers can take is left in the server.
  const response = await fetch(`${serving.url}/api/collections/posts/records`);
  assert.ok(Number(response.headers.get('content-length')) > 12e6);
  serving.process.kill('SIGTERM');
  await serving.process.waitForLog(/stopping/);
  const text = await response.text();
  assert.ok(text.endsWith('}'));
  assert.equal((await serving.process.ended).code, 0);
});

/** A server with a collection, and an endpoint at a receiver that behaves like this. */
async function setUp(t: TestContext, mode: ReceiverMode, flags: readonly string[] = []): Promise<Stage> {
  const data = temporaryFolder(t);
  const receiver = await Receiver.open({ mode });
  t.after(() => receiver.close());
  await runInProcess(['superuser', 'upsert', 'root@example.com', 'correct horse', '--data', data]);
  const serving = await serveMain(t, data, { flags });
  const pb = await signIn(serving.url);
  await pb.collections.create({ name: 'posts', type: 'base', fields: [{ name: 'title', type: 'text' }] });
  await pb.send('/api/webhooks/endpoints', { method: 'POST', body: { url: receiver.url } });
  return { data, serving, pb, receiver };
}

async function signIn(url: string): Promise<PocketBase> {
  const pb = new PocketBase(url);
  await pb.collection('_superusers').authWithPassword('root@example.com', 'correct horse');
  return pb;
}

async function listDeliveries(pb: PocketBase): Promise<readonly Delivery[]> {
  const page = await pb.send<{ items: Delivery[] }>('/api/webhooks/deliveries', { method: 'GET' });
  return page.items;
}

/** Sends the head of a request; the server's "100 Continue" tells that it works on it. The body waits for `finish`. */
async function beginCreate(pb: PocketBase, url: string): Promise<{ readonly finish: () => Promise<string> }> {
  const body = JSON.stringify({ title: 'slow' });
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setEncoding('utf8');
  let received = '';
  socket.on('data', (text: string) => (received += text));
  const lines = [
    'POST /api/collections/posts/records HTTP/1.1',
    `Host: ${hostname}:${port}`,
    `Authorization: ${pb.authStore.token}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Expect: 100-continue',
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  await eventually('the server has begun with the request', () => received.includes('100 Continue'));
  received = '';
  return {
    finish: async () => {
      socket.write(body);
      // Until the answer is whole, and not until the connection is closed, which is the server's to do.
      await eventually('the answer', () => received.endsWith('}'));
      return received.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
    },
  };
}

/** A connection that was used once and is kept alive: it must not hold up a stop. */
async function openConnection(t: TestContext, url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  t.after(() => socket.destroy());
  socket.write(`GET /api/health HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`);
  await once(socket, 'data');
  return socket;
}

async function isRefused(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const refused = await new Promise<boolean>((resolve) => {
    socket.on('connect', () => resolve(false)).on('error', () => resolve(true));
  });
  socket.destroy();
  return refused;
}
