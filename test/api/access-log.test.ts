import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { makeKey } from '../support/make-key.ts';
import { rawRequest, sendRaw } from '../support/raw-http.ts';
import { startService, type TestService } from '../support/service.ts';

type AccessLine = Readonly<Record<string, unknown>>;

interface Logged {
  readonly service: TestService;
  /** Waits for the lines of requests to paths that begin like this. */
  readonly linesOf: (path: string, count?: number) => Promise<readonly AccessLine[]>;
}

async function start(t: TestContext): Promise<Logged> {
  const lines: AccessLine[] = [];
  const writeAccess = (line: string): void => {
    assert.match(line, /^\{[^\n]*\}\n$/);
    // Our own line.
    lines.push(JSON.parse(line) as AccessLine);
  };
  const service = await startService(t, { flags: { 'access-log': true }, parts: { writeAccess } });
  const linesOf: Logged['linesOf'] = (path, count = 1) =>
    eventually(`${count} lines of ${path}`, () => {
      const found = lines.filter((line) => String(line['path']).startsWith(path));
      assert.ok(found.length <= count);
      return found.length === count ? found : undefined;
    });
  return { service, linesOf };
}

test('the access log has a line for each request, with what tells whose it is and where it belongs', async (t) => {
  const { service, linesOf } = await start(t);
  const { key, id } = await makeKey(service, ['records:read']);
  const path = '/api/collections/users/records';
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const asked = await service.request(`${path}?perPage=3`, { token: key, headers: { traceparent } });
  const [line = {}] = await linesOf(path);
  const { time, ms, bytes, traceparent: own, ...rest } = line;
  assert.deepEqual(rest, {
    type: 'access',
    requestId: asked.headers.get('x-request-id'),
    method: 'GET',
    path: `${path}?perPage=3`,
    route: '/api/collections/:collection/records',
    instance: 'default',
    callerKind: 'key',
    caller: id,
    remoteAddress: '127.0.0.1',
    status: 200,
  });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/);
  assert.ok(Number(ms) > 0);
  assert.ok(Number(bytes) > asked.text.length);
  assert.match(String(own), /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
  assert.notEqual(own, traceparent);
});

test('no secret of a query comes into the access log, and no line break of a client', async (t) => {
  const { service, linesOf } = await start(t);
  await service.request('/api/health?token=abc&apiKey=def&page=2');
  const [line = {}] = await linesOf('/api/health');
  assert.equal(line['path'], '/api/health?token=***&apiKey=***&page=2');
  await service.request('/api/files/%0A%7B');
  await linesOf('/api/files/%0A%7B');
});

test('refused, preflight and unknown requests have lines, and those that no route could be found for', async (t) => {
  const { service, linesOf } = await start(t);
  await service.request('/api/nothing');
  await service.request('/i/nobody/api/health');
  await service.request('/api/keys', { method: 'OPTIONS' });
  await service.request('/api/settings', { method: 'PATCH', body: '{' });
  await sendRaw(t, service.url, rawRequest('GET /%zz'));
  const shown = async (path: string): Promise<readonly unknown[]> => {
    const [line = {}] = await linesOf(path);
    return [line['route'], line['status'], line['instance'], line['callerKind']];
  };
  assert.deepEqual(await shown('/api/nothing'), ['none', 404, 'default', 'guest']);
  assert.deepEqual(await shown('/i/nobody'), ['/api/health', 404, '', 'guest']);
  assert.deepEqual(await shown('/api/keys'), ['none', 204, '', 'guest']);
  assert.deepEqual(await shown('/api/settings'), ['/api/settings', 401, 'default', 'guest']);
  assert.deepEqual(await shown('/%zz'), ['none', 400, '', 'guest']);
});

test('a realtime connection has its line when it ends', async (t) => {
  const { service, linesOf } = await start(t);
  const stream = await EventStream.open(t, service.url);
  stream.close();
  const [line = {}] = await linesOf('/api/realtime');
  assert.equal(line['status'], 200);
  assert.ok(Number(line['bytes']) > 0);
});
