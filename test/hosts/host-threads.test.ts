import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { test } from 'node:test';
import { startApp } from '../../src/app.ts';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { EventStream } from '../support/event-stream.ts';
import { Receiver } from '../support/receiver.ts';
import { testConfig } from '../support/test-config.ts';
import { listOf } from '../support/webhook-service.ts';
import { addInstance, posts, startHosts } from './host-stage.ts';

const fileFields = [
  { name: 'title', type: 'text' },
  { name: 'photo', type: 'file', maxSize: 50_000_000 },
];

test('files go through the front to their host and back, whole and by ranges', async (t) => {
  const stage = await startHosts(t);
  const body = { name: 'files', viewRule: '', createRule: '', fields: fileFields };
  assert.equal((await stage.request('/api/collections', { method: 'POST', token: true, body })).status, 200);
  for (const size of [0, 1, 64 * 1024, 3_000_000]) {
    const bytes = Buffer.alloc(size, 'chancery ');
    const form = new FormData();
    form.set('title', `of ${size}`);
    form.set('photo', new Blob([bytes]), 'a.bin');
    const created = await fetch(`${stage.url}/api/collections/files/records`, { method: 'POST', body: form });
    assert.equal(created.status, 201);
    // The answer of our own route.
    const { id, title, photo } = (await created.json()) as Record<string, string>;
    assert.equal(title, `of ${size}`);
    const url = `${stage.url}/api/files/files/${id}/${photo}`;
    const file = await fetch(url);
    assert.equal(file.headers.get('content-length'), String(size));
    assert.ok(Buffer.from(await file.arrayBuffer()).equals(bytes));
    if (size === 0) continue;
    const part = await fetch(url, { headers: { range: 'bytes=-1' } });
    assert.equal(part.status, 206);
    assert.equal(await part.text(), bytes.subarray(-1).toString());
  }
});

test('a list of several megabytes comes whole, and only its head for HEAD', async (t) => {
  const stage = await startHosts(t, { threads: 1, flags: { 'answer-memory': '64' } });
  const title = 'ä'.repeat(4_000);
  const requests = Array.from({ length: 50 }, () => ({ method: 'POST', url: posts, body: { title } }));
  await stage.request('/api/settings', { method: 'PATCH', token: true, body: { batch: { enabled: true } } });
  for (let round = 0; round < 5; round += 1)
    assert.equal(
      (await stage.request('/api/batch', { method: 'POST', token: true, body: { requests } })).status,
      200,
    );
  const list = await stage.request(`${posts}?perPage=500`);
  assert.equal(list.status, 200);
  const items = listOf(list.json.items);
  assert.equal(items.length, 250);
  assert.ok(items.every((item) => item.title === title));
  const head = await stage.request(`${posts}?perPage=500`, { method: 'HEAD' });
  assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(list.text)));
  // Each begins with 2 MiB, as no list before had its filter: together more than there is, which they give back.
  for (let count = 1; count <= 40; count += 1) {
    const filter = Array.from({ length: count }, () => "title != 'a'").join(' && ');
    const short = await stage.request(`${posts}?perPage=1&filter=${encodeURIComponent(filter)}`);
    assert.equal(short.status, 200, `${count}: ${short.text.slice(0, 200)}`);
  }
});

test('realtime clients hear of changes of their instance, and are told when the service stops', async (t) => {
  const stage = await startHosts(t);
  const stream = await EventStream.open(t, stage.url);
  const body = { clientId: stream.clientId, subscriptions: ['posts/*'] };
  assert.equal((await stage.request('/api/realtime', { method: 'POST', body })).status, 204);
  const created = await stage.request(posts, { method: 'POST', body: { title: 'ä' } });
  const [message] = await stream.received(1);
  assert.equal(message?.data.record.id, created.json.id);
  assert.equal(message?.data.record.title, 'ä');
  await stage.stop();
  await eventually('the connection is over', () => stream.isOver);
});

test('webhooks of instances in different threads are sent', async (t) => {
  const receiver = await Receiver.open();
  const stage = await startHosts(t);
  t.after(() => receiver.close());
  const token = await addInstance(stage, 'shop');
  for (const [prefix, of] of [
    ['', stage.superuser.token],
    ['/i/shop', token],
  ] as const) {
    const body = { url: receiver.url, events: ['record.create'] };
    const added = await stage.request(`${prefix}/api/webhooks/endpoints`, {
      method: 'POST',
      token: of,
      body,
    });
    assert.equal(added.status, 201, added.text);
    const collection = { name: 'orders', createRule: '', fields: [{ name: 'title', type: 'text' }] };
    await stage.request(`${prefix}/api/collections`, { method: 'POST', token: of, body: collection });
    await stage.request(`${prefix}/api/collections/orders/records`, {
      method: 'POST',
      body: { title: prefix },
    });
  }
  const created = await eventually('both are sent', () => {
    const bodies = receiver.requests.map(({ body: sent }) => JSON.parse(sent.toString()));
    return bodies.length === 2 && bodies;
  });
  assert.equal(new Set(created.map(({ instance_id: id }) => id)).size, 2);
});

test('what is due when the service stops is sent by the next one, without a request to its instance', async (t) => {
  const receiver = await Receiver.open({ mode: { kind: 'status', status: 500 } });
  const before = await startHosts(t);
  t.after(() => receiver.close());
  const endpoint = { url: receiver.url, events: ['record.create'], schedule: [1, 1, 1, 1, 1, 1, 1, 1] };
  const added = await before.request('/api/webhooks/endpoints', {
    method: 'POST',
    token: true,
    body: endpoint,
  });
  assert.equal(added.status, 201, added.text);
  assert.equal((await before.request(posts, { method: 'POST', body: { title: 'a' } })).status, 201);
  await eventually('an attempt', () => receiver.requests.length > 0);
  await before.stop();
  receiver.mode = { kind: 'ok' };
  const { length } = receiver.requests;
  // Not as a service with a superuser: making one would wake the instance.
  const silent = (): void => undefined;
  const app = await startApp(await testConfig(before.data, { 'host-threads': '2' }), {
    logger: { debug: silent, info: silent, warn: silent, error: silent },
  });
  atEnd(t, () => app.stop());
  await eventually('it is sent again', () => receiver.requests.length > length);
});

test('metrics are the sum of all hosts, wherever they are asked for', async (t) => {
  const stage = await startHosts(t);
  const token = await addInstance(stage, 'shop');
  await stage.request('/i/shop/api/collections', { token });
  const { text, status } = await stage.request('/metrics', { token: true });
  assert.equal(status, 200, text);
  assert.match(text, /^chancery_instances_open 2$/m);
  assert.match(text, /^chancery_http_requests_total\{/m);
  assert.match(text, /^chancery_commit_duration_seconds_count [1-9]/m);
});

test('an upload that its client breaks off leaves neither a record, a port nor a file', async (t) => {
  const stage = await startHosts(t, { threads: 1 });
  const body = { name: 'files', viewRule: '', createRule: '', listRule: '', fields: fileFields };
  assert.equal((await stage.request('/api/collections', { method: 'POST', token: true, body })).status, 200);
  const { port } = new URL(stage.url);
  for (let round = 0; round < 20; round += 1) {
    const headers = { 'content-type': 'multipart/form-data; boundary=x', 'content-length': 10_000_000 };
    const path = '/api/collections/files/records';
    const upload = httpRequest({ port, path, method: 'POST', headers, agent: false });
    upload.on('error', () => undefined);
    upload.write(
      `--x\r\nContent-Disposition: form-data; name="photo"; filename="a.bin"\r\n\r\n${'a'.repeat(300_000)}`,
    );
    await new Promise((resolve) => upload.once('socket', (socket) => socket.once('connect', resolve)));
    upload.destroy();
  }
  const list = await stage.request('/api/collections/files/records');
  assert.equal(list.json.items.length, 0);
  // It stops: nothing waits for what will never come.
  await stage.stop();
});
