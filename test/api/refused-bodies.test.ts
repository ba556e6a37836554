import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { RawConnection, rawRequest } from '../support/raw-http.ts';
import { startService, type TestService } from '../support/service.ts';

const records = '/api/collections/posts/records';
const json = { 'Content-Type': 'application/json' };
const waiting = { ...json, Expect: '100-continue' };
const tooLarge = String(32 * 1024 * 1024 + 1);

async function withPosts(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const body = { name: 'posts', fields: [{ name: 'title', type: 'text' }], createRule: '' };
  const made = await service.request('/api/collections', { method: 'POST', token: true, body });
  assert.equal(made.status, 200, made.text);
  return service;
}

/** Everything that comes on a connection from now on, interim answers included. */
function receivedOn({ socket }: RawConnection): () => string {
  let received = '';
  socket.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')));
  return () => received;
}

test('H-20 H-28 a client that waits for 100 Continue gets a refusal in its place, and the connection is closed', async (t) => {
  const service = await withPosts(t);
  const cases: readonly (readonly [line: string, status: number, headers?: Record<string, string>])[] = [
    [`POST ${records}`, 413, { 'Content-Length': tooLarge }],
    [`POST ${records}`, 415, { 'Content-Type': 'text/plain' }],
    [`POST ${records}`, 415, { 'Content-Encoding': 'gzip' }],
    [`POST ${records}`, 400, { Host: 'a@b' }],
    ['POST /api/nope', 404],
    [`PUT ${records}`, 405],
  ];
  for (const [line, status, headers] of cases) {
    const connection = RawConnection.open(t, service.url);
    const received = receivedOn(connection);
    connection.send(rawRequest(line, { ...waiting, 'Content-Length': '2', ...headers }));
    await connection.waitForEnd();
    const [answer] = connection.answers;
    const what = `${line} ${received()}`;
    assert.deepEqual([answer?.status, answer?.headers.get('connection')], [status, 'close'], what);
    assert.doesNotMatch(received(), / 100 /, what);
  }
});

test('H-36 a body that is to be read is asked for with 100 Continue, behind the answers before it', async (t) => {
  const service = await withPosts(t);
  const connection = RawConnection.open(t, service.url);
  const received = receivedOn(connection);
  const create = rawRequest(`POST ${records}`, { ...waiting, 'Content-Length': '15' });
  connection.send(rawRequest('GET /api/health') + create);
  await eventually('the body is asked for', () => received().includes('HTTP/1.1 100 Continue\r\n\r\n'));
  assert.match(received(), /^HTTP\/1\.1 200 OK/);
  connection.send(`{"title":"one"}${rawRequest('GET /api/health')}`);
  const answers = await connection.waitForAnswers(3);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 201, 200],
  );
});

test('H-20 a client that goes on sending a body announced too large still gets the answer, and nothing behind it is served', async (t) => {
  const service = await withPosts(t);
  const connection = RawConnection.open(t, service.url, true);
  // As many clients do, it reads only once it has sent everything.
  connection.socket.pause();
  const size = 33 * 1024 * 1024;
  connection.send(rawRequest(`POST ${records}`, { ...json, 'Content-Length': String(size) }));
  const piece = Buffer.alloc(1024 * 1024, ' ');
  for (let sent = 0; sent < size; sent += piece.length) {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    connection.socket.write(piece, resolve);
    assert.equal((await promise) ?? undefined, undefined, `after ${sent} bytes`);
  }
  connection.send(rawRequest(`POST ${records}`, {}, '{"title":"behind"}'));
  connection.socket.resume();
  await connection.waitForEnd();
  assert.deepEqual(
    connection.answers.map(({ status, headers }) => [status, headers.get('connection')]),
    [[413, 'close']],
  );
  connection.socket.end();
  await eventually('the connection is closed', () => connection.isClosed);
  // Written after what was sent behind, if that is served at all.
  await service.request(records, { method: 'POST', token: true, body: { title: 'later' } });
  assert.equal((await service.request(records, { token: true })).json.totalItems, 1);
});
