import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { signToken } from '../../src/secrets/token.ts';
import { posts, remoteRun } from '../support/command-stage.ts';
import { eventually } from '../support/eventually.ts';
import { runInProcess, type CommandResult } from '../support/run-in-process.ts';
import { startService, type TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const list = ['record', 'list', 'posts'];

test('a service that cannot be reached, or is something else, is named', async (t) => {
  const html = await serve(t, (_, response) =>
    response.setHeader('content-type', 'text/html').end('<p>Hello'),
  );
  const moved = await serve(t, (_, response) =>
    response.writeHead(301, { location: 'https://b.example/' }).end(),
  );
  const other = await serve(t, (_, response) =>
    response.setHeader('content-type', 'application/json').end('[1]'),
  );
  const broken = await serve(t, ({ socket }) => socket.destroy());
  const cases: readonly (readonly [url: string, says: RegExp])[] = [
    [
      await closedUrl(),
      /^chancery: http:\/\/127\.0\.0\.1:\d+ cannot be reached: connect ECONNREFUSED[^\n]+\n$/,
    ],
    ['http://127.0.0.1:1', /cannot be reached: bad port\.\n$/],
    ['http://nowhere.invalid', /cannot be reached: getaddrinfo \w+ nowhere\.invalid\.\n$/],
    [html, /is not Chancery: it answered 200 with text\/html where JSON was expected\.\n$/],
    [moved, /redirects to https:\/\/b\.example\/: give the URL of the service itself\.\n$/],
    [other, /The answer has another form than was expected/],
    [broken, /cannot be reached: other side closed\.\n$/],
    [html.replace('http:', 'https:'), /cannot be reached: /],
  ];
  for (const [url, says] of cases) {
    const { code, stdout, stderr } = await runInProcess([...list, '--url', url]);
    assert.match(stderr, says);
    assert.deepEqual([code, stdout], [69, ''], stderr);
  }
});

test('what names a service wrongly is refused before anything is sent', async (t) => {
  const data = temporaryFolder(t);
  const cases: readonly (readonly [says: RegExp, ...args: readonly string[]])[] = [
    [/--url must be a URL like https:\/\/chancery\.example\.com, not "example\.com"/, '--url', 'example.com'],
    [/--url must be a URL/, '--url', 'ftp://example.com'],
    [/--url must be a URL/, '--url', 'https://example.com/?a=b'],
    [/--url is empty/, '--url', ''],
    [/must have no user or password in it/, '--url', 'https://root:secret@example.com'],
    [/name only one of them/, '--url', 'https://example.com', '--data', data],
    [/give one of them/, '--url', 'https://example.com', '--profile', 'work'],
    [/give one of them/, '--url', 'https://example.com', '--token', 'a', '--token-file', 'b'],
    [/There is no profile work: sign in with chancery login --profile work\./, '--profile', 'work'],
    [/--token-file: ENOENT/, '--url', 'https://example.com', '--token-file', join(data, 'none')],
    [/--token is for a service: name it with --url\./, '--token', 'a'],
  ];
  for (const [says, ...args] of cases) {
    const { code, stdout, stderr } = await runInProcess([...list, ...args], { environment: { HOME: data } });
    assert.match(stderr, says);
    assert.match(stderr, /^chancery: [^\n]+\n$/);
    assert.doesNotMatch(stderr, /secret/);
    assert.deepEqual([code, stdout], [64, '']);
  }
});

test('a token that has expired or was revoked is refused, and not taken for that of a guest', async (t) => {
  const service = await startService(t);
  await makePosts(service);
  const { url, superuser } = service;
  const listWith = (token: string): Promise<CommandResult> =>
    runInProcess([...list, '--url', url, '--token', token]);
  const claims = { id: 'x', type: 'auth', collectionId: 'pbc_3142635823' };
  const key = 'k'.repeat(50);
  const expired = await listWith(signToken({ ...claims, exp: 1_600_000_000 }, key));
  assert.match(
    expired.stderr,
    /^chancery: The token for http:[^ ]+ has expired: sign in again with chancery login/,
  );
  const forged = await listWith(signToken({ ...claims, exp: 4_000_000_000 }, key));
  assert.match(forged.stderr, /is not valid any more: sign in again/);
  const apiKey = await listWith('ck_nothing');
  assert.deepEqual([expired.code, forged.code, apiKey.code], [77, 77, 77], apiKey.stderr);
  assert.equal((await listWith(`Bearer ${superuser.token}`)).code, 0);
  const guest = await runInProcess([...list, '--url', url]);
  assert.deepEqual([guest.code, /Only superusers/.test(guest.stderr)], [77, true], guest.stderr);
});

test('an API key works within its scopes, also where it may not see definitions', async (t) => {
  const service = await startService(t);
  await makePosts(service);
  const { json } = await service.request('/api/keys', {
    method: 'POST',
    token: true,
    body: { name: 'import', scopes: ['records:write'], collections: ['posts'], expires: '' },
  });
  const run = (...args: readonly string[]) =>
    runInProcess([...args, '--url', service.url, '--token', json.key], { input: 'title,pages\nSea,3\n' });
  const imported = await run('record', 'import', 'posts', '-', '--format', 'csv');
  assert.deepEqual(imported, { code: 0, stdout: 'Imported 1 records into posts.\n', stderr: '' });
  const refused = await run(...list);
  assert.deepEqual([refused.code, /needs the scope records:read/.test(refused.stderr)], [77, true]);
});

test('variables and files name a service as flags do, and flags win', async (t) => {
  const service = await startService(t);
  await makePosts(service);
  const folder = temporaryFolder(t);
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, `${service.superuser.token}\n`);
  const byVariables = { CHANCERY_URL: `${service.url}/`, CHANCERY_TOKEN_FILE: tokenFile };
  const run = (environment: Record<string, string>, ...args: readonly string[]): Promise<CommandResult> =>
    runInProcess([...list, ...args], { environment });
  assert.equal((await run(byVariables)).code, 0);
  assert.equal((await run({ ...byVariables, CHANCERY_DATA: join(folder, 'none') })).code, 0);
  const byFlag = await run(byVariables, '--data', join(folder, 'none'));
  assert.match(byFlag.stderr, /There is no data directory/);
  const both = await run({ ...byVariables, CHANCERY_TOKEN: 'ck_wrong' });
  assert.equal(both.code, 64);
  assert.match(both.stderr, /^chancery: --token and --token-file are the same thing: give one of them/);
  assert.equal(
    (await run({ ...byVariables, CHANCERY_TOKEN: 'ck_wrong' }, '--token-file', tokenFile)).code,
    0,
  );
  const unknown = await run(byVariables, '--instance', 'acme');
  assert.equal(unknown.code, 65);
});

test('a profile names a service, and its token goes to no other', async (t) => {
  const service = await startService(t);
  await makePosts(service);
  const seen: (string | undefined)[] = [];
  const stranger = await serve(t, ({ headers }, response) => {
    seen.push(headers.authorization);
    response.setHeader('content-type', 'application/json').end('{"items":[]}');
  });
  const home = temporaryFolder(t);
  const folder = join(home, '.config', 'chancery');
  mkdirSync(folder, { recursive: true });
  const profile = { url: service.url, token: service.superuser.token };
  const path = join(folder, 'profiles.json');
  writeFileSync(path, JSON.stringify({ current: 'work', profiles: { work: profile } }));
  const run = (...args: readonly string[]) =>
    runInProcess([...list, ...args], { environment: { HOME: home } });
  assert.equal((await run()).code, 0);
  assert.equal((await run('--profile', 'work')).code, 0);
  assert.equal((await run('--url', service.url)).code, 0, 'its own URL');
  assert.equal((await run('--url', stranger)).code, 0);
  assert.deepEqual(seen, [undefined]);
  assert.match((await run('--data', join(home, 'none'))).stderr, /There is no data directory/);
  writeFileSync(path, '{');
  const broken = await run();
  assert.deepEqual([broken.code, /profiles\.json is not JSON/.test(broken.stderr)], [74, true]);
});

test('an import waits for a busy service, and repeats under the same key what was not answered', async (t) => {
  const keys: (string | undefined)[] = [];
  const url = await serve(t, ({ url: path, headers, socket }, response) => {
    response.setHeader('content-type', 'application/json');
    if (path !== '/api/batch?fields=status')
      return void response.end('{"fields":[{"name":"title","type":"text"}]}');
    keys.push(String(headers['idempotency-key']));
    if (keys.length === 1)
      return void response.writeHead(503).end('{"data":{},"message":"Busy.","status":503}');
    if (keys.length === 2) return void socket.destroy();
    return void response.end('[]');
  });
  const importing = ['record', 'import', 'posts', '-', '--format', 'ndjson', '--url', url];
  const { code, stdout } = await runInProcess(importing, { input: '{"title":"One"}' });
  assert.deepEqual([code, stdout], [0, 'Imported 1 records into posts.\n']);
  assert.deepEqual([keys.length, new Set(keys).size], [3, 1]);
});

test('what stops an import is said with how far it came', async (t) => {
  let batches = 0;
  const url = await serve(t, ({ url: path }, response) => {
    response.setHeader('content-type', 'application/json');
    if (path !== '/api/batch?fields=status')
      return void response.end('{"fields":[{"name":"title","type":"text"}]}');
    batches += 1;
    if (batches === 1) return void response.end('[]');
    return void response.writeHead(507).end('{"data":{},"message":"The storage is full.","status":507}');
  });
  const importing = ['record', 'import', 'posts', '-', '--format', 'ndjson', '--url', url];
  const ended = await runInProcess(importing, { input: '{"title":"One"}\n'.repeat(120) });
  assert.deepEqual(ended, {
    code: 74,
    stdout: '',
    stderr: 'chancery: The storage is full. 50 records were imported, up to line 50.\n',
  });
});

test('Ctrl-C ends an import after the batch that is sent, and says how far it came', async (t) => {
  const service = await startService(t);
  await makePosts(service);
  const run = remoteRun(service);
  const input = new Readable({ read: () => undefined });
  const interrupts = new EventEmitter();
  const importing = run(['record', 'import', 'posts', '-', '--format', 'ndjson'], { input, interrupts });
  for (let line = 1; line <= 60; line += 1) input.push(`{"title":"${line}"}\n`);
  // The other ten wait for the rest of their batch, and the command for its input.
  await eventually('a batch is imported', async () => {
    const { json } = await service.request('/api/collections/posts/records?perPage=1', { token: true });
    return json.totalItems === 50;
  });
  interrupts.emit('SIGINT');
  const { code, stdout, stderr } = await importing;
  assert.deepEqual([code, stdout, stderr], [130, 'Imported 50 records into posts, up to line 50.\n', '']);
  assert.equal(interrupts.listenerCount('SIGINT'), 0);
});

test('a terminal shows how far an import has come', async (t) => {
  const service = await startService(t);
  await makePosts(service);
  const importing = ['record', 'import', 'posts', '-', '--format', 'ndjson'];
  const ended = await remoteRun(service)(importing, { input: '{"title":"One"}\n'.repeat(60), columns: 80 });
  const shown = ['', '50 records imported, 0 refused', '60 records imported, 0 refused', ''];
  assert.deepEqual(ended.stderr.split('\r\u001b[K'), shown);
});

test('an export that cannot be written leaves nothing behind', async (t) => {
  const service = await startService(t);
  await makePosts(service);
  const run = remoteRun(service);
  const file = join(temporaryFolder(t), 'no', 'folder', 'posts.csv');
  const { code, stderr } = await run(['record', 'export', 'posts', file]);
  assert.deepEqual([code, /^chancery: ENOENT: [^\n]+\n$/.test(stderr)], [74, true]);
  const kept = join(temporaryFolder(t), 'posts.csv');
  writeFileSync(kept, 'mine');
  const refused = await run(['record', 'export', 'posts', kept, '--filter', 'nope = 1']);
  assert.deepEqual([refused.code, readFileSync(kept, 'utf8')], [65, 'mine']);
  assert.equal((await run(['record', 'export', 'posts', kept])).code, 0);
  assert.equal(statSync(kept).mode & 0o777, 0o600);
});

async function makePosts(service: TestService): Promise<void> {
  await service.request('/api/collections', { method: 'POST', token: true, body: posts });
}

/** Starts something that answers requests, and returns its URL. */
async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return `http://127.0.0.1:${address.port}`;
}

/** Returns the URL of a server that is gone. */
async function closedUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  assert.ok(typeof address === 'object' && address !== null);
  return `http://127.0.0.1:${address.port}`;
}
