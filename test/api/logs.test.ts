// Both engines: entries are rows, filtered and counted by SQL.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type PocketBase from 'pocketbase';
import { Accounts } from '../support/accounts.ts';
import { faultyDatabases } from '../support/faulty-databases.ts';
import { makeKey } from '../support/make-key.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { rawRequest, sendRaw } from '../support/raw-http.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { sql } from '../../src/sql/sql.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

interface Entry {
  readonly id: string;
  readonly created: string;
  readonly message: string;
  readonly level: number;
  readonly data: {
    readonly auth: string;
    readonly authId?: string;
    readonly error?: string;
    readonly execTime: number;
    readonly referer: string;
    readonly remoteIP?: string;
    readonly requestId: string;
    readonly status: number;
    readonly url: string;
    readonly userAgent: string;
    readonly userIP?: string;
  };
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe('the log of requests', () => {
  test('has each answered request with what is known of it, for superusers', async (t) => {
    const service = await startLogged(t);
    const headers = { 'user-agent': 'a test', referer: 'https://example.com/page?token=hidden' };
    const { headers: answered } = await service.request('/api/collections/users/records?perPage=1', {
      headers,
    });
    const entry = await entryOf(service, "message ~ 'users'");
    assert.match(entry.id, /^[a-z0-9]{15}$/);
    assert.match(entry.created, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(Object.keys(entry), ['id', 'created', 'data', 'message', 'level']);
    const { execTime, ...data } = entry.data;
    assert.ok(execTime >= 0);
    assert.deepEqual(
      { ...entry, data, id: '', created: '' },
      {
        id: '',
        created: '',
        data: {
          auth: '',
          method: 'GET',
          referer: 'https://example.com/page?token=***',
          remoteIP: '127.0.0.1',
          requestId: answered.get('x-request-id'),
          status: 200,
          type: 'request',
          url: '/api/collections/users/records?perPage=1',
          userAgent: 'a test',
          userIP: '127.0.0.1',
        },
        message: 'GET /api/collections/users/records?perPage=1',
        level: 0,
      },
    );
    const one = await service.request(`/api/logs/${entry.id}`, { token: true });
    assert.deepEqual(one.json, entry);
  });

  test('tells refusals from answers, and what the refused was told, wherever a request was refused', async (t) => {
    const service = await startLogged(t);
    const path = '/api/collections/users/records';
    await service.request(`${path}?filter=(`);
    await service.request(path, { method: 'POST', body: '{', headers: {} });
    await service.request('/api/nothing');
    await service.request('/api/health', { method: 'DELETE' });
    const entries = await entriesOf(service, 'level > 0');
    assert.deepEqual(
      entries.map(({ level, message, data }) => [level, message, data.status, typeof data.error]),
      [
        [4, `GET ${path}?filter=(`, 400, 'string'],
        [4, `POST ${path}`, 400, 'string'],
        [4, 'GET /api/nothing', 404, 'string'],
        [4, 'DELETE /api/health', 405, 'string'],
      ],
    );
  });

  test('does not say what a failure was, but under which id the operator finds it', async (t) => {
    const { databases, wrapDatabase } = faultyDatabases();
    const service = await startService(t, { parts: { wrapDatabase } });
    for (const database of databases) database.canWrite = false;
    const body = { email: 'a@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
    await service.request('/api/collections/users/records', { method: 'POST', body });
    const entry = await entryOf(service, 'level >= 8');
    assert.deepEqual([entry.data.status, entry.data.error], [500, undefined]);
    // Not the only failure: what is written after answers fails as well, and is nobody's request.
    const failures = service.log.filter(({ level }) => level === 'error');
    const told = failures.filter(({ members }) => members['requestId'] === entry.data.requestId);
    assert.equal(told.length, 1);
    assert.doesNotMatch(JSON.stringify(entry), /disk/);
  });

  test('knows which collection a caller is of, and who he is if it shall', async (t) => {
    const accounts = await Accounts.start(t);
    const { service } = accounts;
    const account = await accounts.account('ann');
    await forget(service);
    await service.request('/api/collections/users/records', { token: account.token });
    await change(service, { logAuthId: true });
    await service.request('/api/collections/users/records', { token: account.token });
    await service.request('/api/collections/users/records', { token: true });
    const entries = await entriesOf(service, "data.url = '/api/collections/users/records'");
    assert.deepEqual(
      entries.map(({ data }) => [
        data.auth,
        data.authId === undefined ? '' : 'id',
        data.authId === account.id,
      ]),
      [
        ['users', '', false],
        ['users', 'id', true],
        ['_superusers', 'id', false],
      ],
    );
  });

  test('knows which API key has asked, which is nobody, and never the key itself', async (t) => {
    const service = await startLogged(t);
    const { id, key } = await makeKey(service, ['records:read']);
    await service.request('/api/collections/users/records', { token: key });
    await service.request('/api/keys', { token: key });
    await change(service, { logAuthId: true });
    await service.request('/api/collections/users/records', { token: `Bearer ${key}` });
    const entries = await entriesOf(service, `data.key = '${id}'`);
    assert.deepEqual(
      entries.map(({ data }) => [data.auth, data.authId, data.status]),
      [
        ['', undefined, 200],
        ['', undefined, 403],
        ['', undefined, 200],
      ],
    );
    assert.ok(!JSON.stringify(await entriesOf(service)).includes(key.slice(18)));
  });

  test('has no addresses where it shall have none', async (t) => {
    const service = await startLogged(t);
    await change(service, { logIP: false });
    await service.request('/api/collections/users/records');
    const entry = await entryOf(service, "message ~ 'users'");
    assert.deepEqual([entry.data.userIP, entry.data.remoteIP], [undefined, undefined]);
    assert.doesNotMatch(JSON.stringify(entry), /127\.0\.0\.1/);
  });

  test('has what is as serious as it is asked to have', async (t) => {
    const service = await startLogged(t);
    await change(service, { minLevel: 4 });
    await forget(service);
    await service.request('/api/collections/users/records');
    await service.request('/api/collections/nothing/records');
    const messages = (await entriesOf(service)).map(({ message }) => message);
    assert.deepEqual(messages, ['GET /api/collections/nothing/records']);
  });

  test('forgets what is older than its days, and everything for no days', async (t) => {
    const clock = new MovableClock(Date.now());
    const service = await startLogged(t, clock);
    await service.request('/api/collections/users/records?page=1');
    clock.move(3 * dayMs);
    await service.request('/api/collections/users/records?page=2');
    // The token of the superuser is a day's.
    await signInAgain(service);
    assert.equal((await entriesOf(service, "message ~ 'users/records?'")).length, 2);
    clock.move(2.5 * dayMs);
    await signInAgain(service);
    const left = await entriesOf(service, "message ~ 'users/records?'");
    assert.deepEqual(
      left.map(({ data }) => data.url),
      ['/api/collections/users/records?page=2'],
    );
    await change(service, { maxDays: 0 });
    clock.move(1);
    assert.deepEqual(await entriesOf(service), []);
  });

  test('has no token, password or body that came with a request', async (t) => {
    const service = await startLogged(t);
    const secret = 'canary-of-the-log';
    const body = { identity: secret, password: secret };
    await service.request('/api/collections/users/auth-with-password', { method: 'POST', body });
    await service.request(`/api/collections/users/records?token=${secret}`);
    await service.request(`/api/nothing?%70assword=${secret}`, {
      headers: {
        authorization: secret,
        cookie: secret,
        'x-token': secret,
        referer: `https://a/?key=${secret}`,
      },
    });
    const [entries, { headers }] = [await entriesOf(service), await listOf(service)];
    assert.equal(entries.length, 3);
    assert.doesNotMatch(JSON.stringify([entries, [...headers]]), /canary/);
  });

  test('keeps of long texts as much as it may, and what every engine can store', async (t) => {
    const service = await startLogged(t);
    const long = 'x'.repeat(5_000);
    await service.request(`/api/collections/users/records?a=${long}`, {
      headers: { 'user-agent': long, referer: long },
    });
    await sendRaw(
      t,
      service.url,
      Buffer.from(rawRequest('GET /api/nothing', { 'User-Agent': '\xff\xfe' }), 'latin1'),
    );
    const [first, second] = await entriesOf(service);
    assert.ok(first && second);
    assert.deepEqual(
      [first.data.url.length, first.data.userAgent.length, first.data.referer.length],
      [2_000, 500, 500],
    );
    assert.equal(second.data.userAgent, '\xff\xfe');
  });

  test('leaves out probes as long as all is well', async (t) => {
    const service = await startLogged(t);
    await service.request('/api/health');
    await service.request('/api/health?fields=a:x');
    assert.deepEqual(
      (await entriesOf(service)).map(({ data }) => [data.url, data.status]),
      [['/api/health?fields=a:x', 400]],
    );
  });

  test('is of one instance and of no other', async (t) => {
    const service = await startLogged(t);
    await service.app.data.directory.create('other', null);
    await service.request('/i/other/api/collections/users/records');
    assert.deepEqual(await entriesOf(service), []);
    const messages = await service.withInstance('other', async ({ logs }) => {
      const database = await logs.table();
      const { names } = database;
      return database.tuples(
        sql`SELECT message FROM ${names.table('$log')} WHERE ${names.instance.condition}`,
      );
    });
    assert.deepEqual(messages, [['GET /api/collections/users/records']]);
  });

  test('T-16 neither the ids of requests nor those of the log tell how much another instance is asked', async (t) => {
    const service = await startLogged(t);
    await service.app.data.directory.create('other', null);
    const path = '/api/collections/users/records';
    const ask = async (): Promise<string> =>
      String((await service.request(path)).headers.get('x-request-id'));
    const [first] = [await ask(), await entriesOf(service)];
    for (let count = 0; count < 20; count += 1) await service.request(`/i/other${path}`);
    await service.withInstance('other', ({ logs }) => logs.table());
    const second = await ask();
    assert.notEqual(second.slice(0, 6), first.slice(0, 6), 'they are chance from their beginning');
    const [one, other] = (await entriesOf(service)).map(({ id }) => Number.parseInt(id.slice(9, 12), 36));
    assert.equal(Math.abs(Number(one) - Number(other)), 2, 'between them the log was asked for, once');
  });

  test('survives a start of the service', async (t) => {
    const first = await startLogged(t);
    await first.request('/api/collections/users/records');
    await first.stop();
    const second = await startService(t, { data: first.data });
    assert.equal((await entriesOf(second, "message ~ 'users/records'")).length, 1);
  });

  for (const [path, method] of [
    ['/api/logs', 'GET'],
    ['/api/logs', 'DELETE'],
    ['/api/logs/stats', 'GET'],
    ['/api/logs/abcdefghij01234', 'GET'],
  ] as const)
    test(`${method} ${path} is for superusers only`, async (t) => {
      const accounts = await Accounts.start(t);
      const { token } = await accounts.account('ann');
      assert.equal((await accounts.ask(method, path)).status, 401);
      assert.equal((await accounts.ask(method, path, { token })).status, 403);
    });
});

describe('the SDK', () => {
  test('lists, finds and filters entries by their members', async (t) => {
    const { service, pb } = await startSdk(t);
    for (const page of [1, 2, 3]) await service.request(`/api/collections/users/records?page=${page}`);
    await service.request('/api/nothing');
    const page = await pb.logs.getList(1, 2, {
      filter: 'data.auth = "" && data.status = 200',
      sort: '-@rowid',
    });
    assert.deepEqual(
      [page.items.map(({ data }) => data['url']), page.totalItems, page.totalPages],
      [['/api/collections/users/records?page=3', '/api/collections/users/records?page=2'], 3, 2],
    );
    const [first] = page.items;
    assert.deepEqual(await pb.logs.getOne(first?.id ?? ''), first);
    const sorted = await pb.logs.getList(1, 9, { sort: '-level,created', filter: "message !~ 'logs'" });
    assert.equal(sorted.items[0]?.message, 'GET /api/nothing');
    assert.equal((await refusalOf(pb.logs.getOne('abcdefghij01234'))).status, 404);
    for (const options of [{ filter: 'nothing = 1' }, { filter: 'data.url:lower = 1' }, { sort: 'data..a' }])
      assert.equal((await refusalOf(pb.logs.getList(1, 1, options))).status, 400);
  });

  test('counts entries by the hour', async (t) => {
    const clock = new MovableClock();
    const { service, pb } = await startSdk(t, clock);
    const ask = (page: number): Promise<TestAnswer> =>
      service.request(`/api/collections/users/records?page=${page}`);
    await ask(1);
    await ask(2);
    clock.move(hourMs);
    await ask(3);
    const filter = "message ~ 'users'";
    assert.deepEqual(await pb.logs.getStats({ filter, fields: 'date,total' }), [
      { date: '2026-11-20 09:00:00.000Z', total: 2 },
      { date: '2026-11-20 10:00:00.000Z', total: 1 },
    ]);
    assert.deepEqual(await pb.logs.getStats({ filter: 'level > 8' }), []);
    const refused = await refusalOf(pb.logs.getStats({ filter: 'nothing = 1' }));
    assert.deepEqual([refused.status, refused.response['message']], [400, 'Invalid filter format.']);
  });

  test('forgets all entries', async (t) => {
    const { service, pb } = await startSdk(t);
    await service.request('/api/collections/users/records');
    assert.equal(await pb.logs.truncate(), true);
    const page = await pb.logs.getList();
    assert.deepEqual(
      page.items.map(({ message }) => message),
      ['DELETE /api/logs'],
    );
  });
});

/** A service whose log has nothing of how it was set up. */
async function startLogged(t: TestContext, clock?: MovableClock): Promise<TestService> {
  const service = await startService(t, clock === undefined ? {} : { parts: { clock } });
  await forget(service);
  return service;
}

async function startSdk(
  t: TestContext,
  clock?: MovableClock,
): Promise<{ readonly service: TestService; readonly pb: PocketBase }> {
  const service = await startService(t, clock === undefined ? {} : { parts: { clock } });
  const pb = await superuserSdk(service);
  await forget(service);
  return { service, pb };
}

/** Past HTTP, as the request that forgets is itself one for the log. */
function forget(service: TestService): Promise<void> {
  return service.withInstance('default', ({ logs }) => logs.clear());
}

async function change(service: TestService, logs: object): Promise<void> {
  const answer = await service.request('/api/settings', { method: 'PATCH', body: { logs }, token: true });
  assert.equal(answer.status, 200, answer.text);
}

async function signInAgain(service: TestService): Promise<void> {
  const { email, password } = service.superuser;
  const body = { identity: email, password };
  const answer = await service.request('/api/collections/_superusers/auth-with-password', {
    method: 'POST',
    body,
  });
  Object.assign(service.superuser, { token: answer.json.token });
}

function listOf(service: TestService, filter = ''): Promise<TestAnswer> {
  return service.request(`/api/logs?sort=id&filter=${encodeURIComponent(filter)}`, { token: true });
}

/** Without those for the log itself. */
async function entriesOf(service: TestService, filter = ''): Promise<readonly Entry[]> {
  const answer = await listOf(service, filter);
  assert.equal(answer.status, 200, answer.text);
  const entries: readonly Entry[] = answer.json.items;
  return entries.filter(({ message }) => !message.includes('/api/logs'));
}

/** The first of them, which must be there. */
async function entryOf(service: TestService, filter = ''): Promise<Entry> {
  const [entry] = await entriesOf(service, filter);
  assert.ok(entry, `an entry with ${filter}`);
  return entry;
}
