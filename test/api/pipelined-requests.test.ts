import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { RawConnection, rawRequest } from '../support/raw-http.ts';
import { startService, type TestService } from '../support/service.ts';

const records = '/api/collections/posts/records';

async function withPosts(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const rules = { listRule: '', viewRule: '', createRule: '' };
  const fields = [
    { name: 'title', type: 'text', max: 1_000_000 },
    { name: 'data', type: 'json' },
  ];
  const made = await service.request('/api/collections', {
    method: 'POST',
    token: true,
    body: { name: 'posts', fields, ...rules },
  });
  assert.equal(made.status, 200, made.text);
  return service;
}

const create = (title: string): string => rawRequest(`POST ${records}`, {}, JSON.stringify({ title }));

/** What a request before this one has begun is done by then: the service writes in the order in which it was asked. */
async function titles(service: TestService): Promise<readonly string[]> {
  await service.request(records, { method: 'POST', body: { title: 'last' } });
  const { json } = await service.request(`${records}?fields=title&sort=title&filter=title!=''`);
  const items: readonly { readonly title: string }[] = json.items;
  return items.map(({ title }) => title.slice(0, 10));
}

test('H-03 what a client asks behind an answer that it does not read waits until it has read it', async (t) => {
  const service = await withPosts(t);
  // More than the buffers between the two hold.
  for (let count = 0; count < 24; count += 1)
    await service.request(records, { method: 'POST', body: { data: 'я'.repeat(500_000) } });
  const accepted: Socket[] = [];
  service.app.server.server.on('connection', (socket: Socket) => accepted.push(socket));
  const connection = RawConnection.open(t, service.url);
  connection.socket.pause();
  connection.send(rawRequest(`GET ${records}?perPage=100`) + create('behind') + create('x'.repeat(500_000)));
  const held = await eventually('the connection', () => accepted[0]);
  await eventually('the answer is on its way', () => held.writableLength > 0);
  // In bytes, of which there are 24 million: the system has taken some, and Node counts 12 million characters.
  await eventually('it is counted', () => service.app.server.memory.amount > 13_000_000);
  assert.deepEqual(await titles(service), ['last']);
  connection.socket.resume();
  const answers = await connection.waitForAnswers(3);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 201, 201],
  );
  assert.deepEqual(await titles(service), ['behind', 'last', 'last', 'x'.repeat(10)]);
  assert.equal(service.app.server.memory.amount, 0);
});

test('what stands behind a request whose answer ends the connection is not done', async (t) => {
  const service = await withPosts(t);
  const connection = RawConnection.open(t, service.url);
  connection.send(rawRequest('GET /api/health', { Host: 'a@b' }) + create('behind') + create('and another'));
  await connection.waitForEnd();
  assert.deepEqual(
    connection.answers.map(({ status }) => status),
    [400],
  );
  assert.deepEqual(await titles(service), ['last']);
});

test('of many requests that are sent at once each is answered, in their order', async (t) => {
  const service = await withPosts(t);
  const connection = RawConnection.open(t, service.url);
  const asked = Array.from({ length: 2_000 }, (_, index) => `/api/nope/${index}`);
  connection.send(asked.map((path, index) => rawRequest(`GET ${index % 2 ? path : '/api/health'}`)).join(''));
  const answers = await connection.waitForAnswers(asked.length);
  assert.deepEqual(
    answers.map(({ status }) => status),
    asked.map((_, index) => (index % 2 ? 404 : 200)),
  );
});

test('no more of a connection is read ahead than one read brings', async (t) => {
  const service = await withPosts(t);
  const accepted: Socket[] = [];
  service.app.server.server.on('connection', (socket: Socket) => accepted.push(socket));
  const connection = RawConnection.open(t, service.url);
  const request = create('behind');
  connection.send(request.repeat(5_000));
  const held = await eventually('the connection', () => accepted[0]);
  let most = 0;
  while (connection.answers.length < 50) {
    await connection.waitForAnswers(connection.answers.length + 1);
    most = Math.max(most, held.bytesRead - connection.answers.length * request.length);
  }
  assert.ok(most <= 64 * 1024, `${most} bytes were read ahead`);
});

test('who sends many requests at once is answered in turns with others', async (t) => {
  const service = await withPosts(t);
  const connection = RawConnection.open(t, service.url);
  const count = 20_000;
  connection.send(rawRequest('GET /api/health').repeat(count));
  await connection.waitForAnswers(1);
  await service.request('/api/health');
  assert.ok(connection.answers.length < count / 2, `${connection.answers.length} came before it`);
});

test('of requests for what is no path one is answered in a turn of the loop, too', async (t) => {
  const service = await withPosts(t);
  let [inTurn, most] = [0, 0];
  const answered = (): void => {
    if (inTurn === 0) setImmediate(() => (inTurn = 0));
    inTurn += 1;
    most = Math.max(most, inTurn);
  };
  service.app.server.server.on('request', (_: unknown, response: ServerResponse) =>
    response.once('finish', answered),
  );
  const connection = RawConnection.open(t, service.url);
  const count = 1_000;
  connection.send(rawRequest('GET /%zz').repeat(count));
  await connection.waitForAnswers(count);
  assert.ok(most <= 2, `${most} in one turn`);
});

test('the time for headers does not run out while the requests before them wait', async (t) => {
  const service = await withPosts(t);
  for (let count = 0; count < 24; count += 1)
    await service.request(records, { method: 'POST', body: { data: 'x'.repeat(1_000_000) } });
  const { server } = service.app.server;
  const accepted: Socket[] = [];
  server.on('connection', (socket: Socket) => accepted.push(socket));
  const connection = RawConnection.open(t, service.url);
  connection.socket.pause();
  const last = create('last');
  connection.send(rawRequest(`GET ${records}?perPage=100`) + create('behind') + last.slice(0, 30));
  const held = await eventually('the connection', () => accepted[0]);
  await eventually('the answer is on its way', () => held.writableLength > 0);
  connection.send(last.slice(30));
  // As Node tells it, ten seconds later.
  server.emit('clientError', Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), held);
  connection.socket.resume();
  await connection.waitForAnswers(3);
  connection.send(rawRequest('GET /api/health'));
  const answers = await connection.waitForAnswers(4);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 201, 201, 200],
  );
});
