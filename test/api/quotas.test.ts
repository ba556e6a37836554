// Both engines: the database itself counts.
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { readUsage } from '../../src/logs/read-usage.ts';
import { openDataDirectory } from '../../src/open-data-directory.ts';
import { testConfig, testEngine } from '../support/test-config.ts';
import type { Quotas } from '../../src/instances/quotas.ts';
import { readDataBytes } from '../../src/limits/data-room.ts';
import { readRecordQuota } from '../../src/collections/table-quotas.ts';
import { eventually } from '../support/eventually.ts';
import { EventStream } from '../support/event-stream.ts';
import { MovableClock } from '../support/movable-clock.ts';
import {
  startService,
  type TestAnswer,
  type TestService,
  type TestServiceOptions,
} from '../support/service.ts';

const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
const fields = [{ name: 'title', type: 'text' }];

interface Stage {
  readonly service: TestService;
  readonly ask: (what: string, body?: unknown) => Promise<TestAnswer>;
  /** Sets the quotas of the default instance, and waits until the database holds that of records. */
  readonly limit: (quotas: Quotas) => Promise<void>;
  /** How many records are counted; undefined where none are. */
  readonly counted: () => Promise<number | undefined>;
}

async function setUp(t: TestContext, options: TestServiceOptions = {}): Promise<Stage> {
  const service = await startService(t, options);
  const ask: Stage['ask'] = (what, body) => {
    const [method = '', path = ''] = what.split(' ');
    return service.request(path, { method, token: true, body });
  };
  assert.equal((await ask('POST /api/collections', { name: 'posts', ...open, fields })).status, 200);
  const read = (): ReturnType<typeof readRecordQuota> =>
    service.withInstance('default', ({ database }) => readRecordQuota(database));
  return {
    service,
    ask,
    limit: async (quotas) => {
      const { directory } = service.app.data;
      await directory.setQuotas(directory.findBySlug('default')?.id ?? '', quotas);
      await eventually('the quota is set', async () => (await read())?.max === quotas.records);
    },
    counted: async () => (await read())?.used,
  };
}

function assertExceeded({ status, json, text }: TestAnswer, name: string): void {
  const message = `The instance has reached its quota ${name}.`;
  assert.equal(status, 400, text);
  assert.deepEqual(json.data, { quota: { code: 'quota_exceeded', message, params: { name } } });
  assert.equal(json.message, message);
}

async function create({ ask }: Stage, count: number): Promise<readonly TestAnswer[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => ask('POST /api/records/posts', { title: `${index}` })),
  );
}

describe('the quota of records', () => {
  test('admits exactly as many records as it allows, of those that are created at once', async (t) => {
    const stage = await setUp(t);
    await create(stage, 3);
    assert.equal(await stage.counted(), undefined);
    await stage.limit({ records: 10 });
    assert.equal(await stage.counted(), 3);
    const answers = await create(stage, 40);
    const created = answers.filter(({ status }) => status === 201);
    assert.equal(created.length, 7);
    for (const answer of answers) if (!created.includes(answer)) assertExceeded(answer, 'records');
    assert.equal(await stage.counted(), 10);
    const list = await stage.ask('GET /api/records/posts?filter=id!=""');
    assert.equal(list.json.totalItems, 10);
    assert.deepEqual(
      stage.service.log.filter(({ level }) => level === 'error'),
      [],
    );
  });

  test('is of all records but those of the system, and none of a refused batch is kept', async (t) => {
    const stage = await setUp(t);
    const { ask } = stage;
    await stage.limit({ records: 3 });
    const account = { email: 'a@example.com', password: 'correct horse', passwordConfirm: 'correct horse' };
    assert.equal((await ask('POST /api/collections/users/records', account)).status, 201);
    const root = { ...account, email: 'b@example.com' };
    assert.equal((await ask('POST /api/collections/_superusers/records', root)).status, 201);
    assert.equal(await stage.counted(), 1);
    const requests = Array.from({ length: 3 }, () => ({
      method: 'POST',
      url: '/api/records/posts',
      body: {},
    }));
    const batch = await ask('POST /api/batch', { requests });
    assert.equal(batch.status, 400, batch.text);
    assert.match(batch.text, /quota_exceeded/);
    assert.equal(await stage.counted(), 1);
    assert.equal((await ask('POST /api/batch', { requests: requests.slice(1) })).status, 200);
    assert.equal(await stage.counted(), 3);
  });

  test('has room again for each record that is deleted, alone, by a cascade, or with its collection', async (t) => {
    const stage = await setUp(t);
    const { ask } = stage;
    const { id } = (await ask('GET /api/collections/posts')).json;
    const post = { name: 'post', type: 'relation', collectionId: id, cascadeDelete: true };
    await ask('POST /api/collections', { name: 'comments', ...open, fields: [post] });
    await stage.limit({ records: 4 });
    const [first] = await create(stage, 2);
    for (const _ of ['one', 'two']) await ask('POST /api/records/comments', { post: first?.json.id });
    const [refused] = await create(stage, 1);
    assertExceeded(refused!, 'records');
    assert.equal((await ask(`DELETE /api/records/posts/${first?.json.id}`)).status, 204);
    await eventually('all three are gone', async () => (await stage.counted()) === 1);
    await create(stage, 3);
    assertExceeded((await create(stage, 1))[0]!, 'records');
    assert.equal((await ask('DELETE /api/collections/comments')).status, 204);
    assert.equal((await ask('DELETE /api/collections/posts')).status, 204);
    assert.equal(await stage.counted(), 0);
  });

  test('holds in collections that are created, renamed and changed under it', async (t) => {
    const stage = await setUp(t);
    const { ask } = stage;
    await create(stage, 1);
    await stage.limit({ records: 4 });
    await ask('POST /api/collections', { name: 'notes', ...open, fields });
    assert.equal((await ask('POST /api/records/notes', {})).status, 201);
    const changes = [
      { name: 'articles' },
      { fields: [...fields, { name: 'rank', type: 'number' }] },
      { fields: [{ name: 'heading', type: 'text' }] },
      { fields: Array.from({ length: 9 }, (_, index) => ({ name: `f${index}`, type: 'text' })) },
    ];
    for (const change of changes) {
      const changed = await ask(`PATCH /api/collections/${'name' in change ? 'posts' : 'articles'}`, change);
      assert.equal(changed.status, 200, changed.text);
      assert.equal(await stage.counted(), 2);
    }
    const { id } = (await ask('POST /api/records/articles', {})).json;
    assert.equal((await ask('POST /api/records/notes', {})).status, 201);
    for (const name of ['articles', 'notes'])
      assertExceeded(await ask(`POST /api/records/${name}`, {}), 'records');
    await ask(`DELETE /api/records/articles/${id}`);
    assert.equal(await stage.counted(), 3);
    assert.equal((await ask('DELETE /api/collections/articles/truncate')).status, 204);
    await eventually('it is empty', async () => (await stage.counted()) === 2);
  });

  test('can be raised, lowered below what there is, and removed', async (t) => {
    const stage = await setUp(t);
    const { ask } = stage;
    await stage.limit({ records: 2 });
    const [first, second] = await create(stage, 2);
    await stage.limit({ records: 4 });
    assert.deepEqual(
      (await create(stage, 2)).map(({ status }) => status),
      [201, 201],
    );
    await stage.limit({ records: 3 });
    assert.equal(await stage.counted(), 4);
    assert.equal((await ask(`PATCH /api/records/posts/${first?.json.id}`, { title: 'more' })).status, 200);
    await ask(`DELETE /api/records/posts/${first?.json.id}`);
    assertExceeded((await create(stage, 1))[0]!, 'records');
    await ask(`DELETE /api/records/posts/${second?.json.id}`);
    assert.equal((await create(stage, 1))[0]?.status, 201);
    await stage.limit({});
    assert.equal(await stage.counted(), undefined);
    assert.equal(
      (await create(stage, 5)).every(({ status }) => status === 201),
      true,
    );
    await stage.limit({ records: 0 });
    assert.equal(await stage.counted(), 8);
  });
});

test('the quota of collections is of those that are not of the system, also in an import', async (t) => {
  const stage = await setUp(t);
  const { ask, service } = stage;
  const all: readonly { readonly system: boolean }[] = (await ask('GET /api/collections?perPage=100')).json
    .items;
  const own = all.filter(({ system }) => !system).length;
  await stage.limit({ records: 100, collections: own + 1 });
  assert.equal((await ask('POST /api/collections', { name: 'notes', fields })).status, 200);
  assertExceeded(await ask('POST /api/collections', { name: 'more', fields }), 'collections');
  const collections = [{ name: 'more', fields }];
  assertExceeded(await ask('PUT /api/collections/import', { collections }), 'collections');
  assert.equal((await ask('PATCH /api/collections/notes', { name: 'memos' })).status, 200);
  assert.equal((await ask('DELETE /api/collections/memos')).status, 204);
  assert.equal((await ask('PUT /api/collections/import', { collections })).status, 204);
  assert.equal(
    service.log.some(({ level }) => level === 'error'),
    false,
  );
});

test('the quota of endpoints is of all of them', async (t) => {
  const stage = await setUp(t);
  const { ask } = stage;
  await stage.limit({ records: 100, endpoints: 1 });
  const url = 'https://hooks.example/one';
  const first = await ask('POST /api/webhooks/endpoints', { url });
  assert.equal(first.status, 201, first.text);
  assertExceeded(await ask('POST /api/webhooks/endpoints', { url }), 'endpoints');
  assert.equal(
    (await ask(`PATCH /api/webhooks/endpoints/${first.json.id}`, { url: `${url}/2` })).status,
    200,
  );
  assert.equal((await ask(`DELETE /api/webhooks/endpoints/${first.json.id}`)).status, 204);
  assert.equal((await ask('POST /api/webhooks/endpoints', { url })).status, 201);
});

test('requests and writes a second are counted for all clients together, and the headers show the quota', async (t) => {
  const clock = new MovableClock();
  const stage = await setUp(t, { parts: { clock } });
  const { ask, service } = stage;
  await stage.limit({ records: 100, requestsPerSecond: 3, writesPerSecond: 1 });
  const answers: TestAnswer[] = [];
  for (let index = 0; index < 11; index += 1) answers.push(await ask('POST /api/records/posts', {}));
  const [first, last] = [answers[0]!, answers[10]!];
  assert.equal(first.headers.get('ratelimit-policy'), '"writesPerSecond";q=10;w=10');
  assert.equal(first.headers.get('ratelimit'), '"writesPerSecond";r=9;t=10');
  assert.deepEqual(
    answers.map(({ status }) => status),
    [...Array.from({ length: 10 }, () => 201), 429],
  );
  assert.equal(last.headers.get('retry-after'), '10');
  assert.deepEqual(last.json.data.quota.params, { name: 'writesPerSecond' });
  const reads: TestAnswer[] = [];
  for (let index = 0; index < 20; index += 1) reads.push(await service.request('/api/records/posts'));
  assert.deepEqual(
    reads.map(({ status }) => status),
    [...Array.from({ length: 19 }, () => 200), 429],
  );
  assert.deepEqual(reads.at(-1)?.json.data.quota.params, { name: 'requestsPerSecond' });
  clock.move(10_000);
  assert.equal((await ask('POST /api/records/posts', {})).status, 201);
});

test('the quota of realtime connections refuses one more, and a place is free again when one is closed', async (t) => {
  const stage = await setUp(t);
  const { service } = stage;
  await stage.limit({ records: 100, realtimeConnections: 2 });
  const streams = [await EventStream.open(t, service.url), await EventStream.open(t, service.url)];
  const refused = await service.request('/api/realtime');
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5']);
  assert.deepEqual(refused.json.data.quota.params, { name: 'realtimeConnections' });
  streams[0]?.close();
  await eventually('a free place', async () => {
    const { status } = await service.request('/api/realtime', { method: 'HEAD' });
    return status !== 429;
  });
});

test('the quota of bytes refuses what adds to the data with 507, and deletes go on', async (t) => {
  const stage = await setUp(t);
  const { ask, service } = stage;
  const [first] = await create(stage, 1);
  const bytes = await service.withInstance('default', ({ database }) => readDataBytes(database));
  await stage.limit({ records: 100_000, dataBytes: bytes + 400_000 });
  const title = 'x'.repeat(4_000);
  const requests = Array.from({ length: 50 }, () => ({
    method: 'POST',
    url: '/api/records/posts',
    body: { title },
  }));
  let refused: TestAnswer | undefined;
  for (let count = 0; count < 20 && refused === undefined; count += 1) {
    const batch = await ask('POST /api/batch', { requests });
    if (batch.status !== 200) refused = batch;
  }
  assert.equal(refused?.status, 507);
  assert.deepEqual(refused?.json.data.quota.params, { name: 'dataBytes' });
  assert.equal((await ask(`DELETE /api/records/posts/${first?.json.id}`)).status, 204);
  assert.equal((await ask('GET /api/health')).status, 200);
  assert.equal(
    service.log.some(({ level }) => level === 'error'),
    false,
  );
  await stage.limit({ records: 100_000 });
  assert.equal((await ask('POST /api/batch', { requests })).status, 200);
});

test(
  'quotas hold in an instance that another thread runs, and its use is recorded there',
  { skip: testEngine === 'postgres' && 'nodes are the hosts there' },
  async (t) => {
    const service = await startService(t, { flags: { 'host-threads': '1' } });
    const { directory } = service.app.data;
    const ask = (method: string, path: string, body?: unknown): Promise<TestAnswer> =>
      service.request(path, { method, token: true, body });
    assert.equal((await ask('POST', '/api/collections', { name: 'posts', ...open, fields })).status, 200);
    const id = directory.findBySlug('default')?.id ?? '';
    await directory.setQuotas(id, { records: 0, endpoints: 0, writesPerSecond: 1 });
    const refused = await eventually('the quota holds', async () => {
      const answer = await ask('POST', '/api/records/posts', {});
      return answer.status === 400 && answer;
    });
    assertExceeded(refused, 'records');
    assert.match(refused.headers.get('ratelimit-policy') ?? '', /^"writesPerSecond";q=10/);
    await service.stop();
    const data = await openDataDirectory(await testConfig(service.data), {});
    t.after(() => data.stop());
    const [usage] = await readUsage(data.home.control, {
      from: 0,
      to: Date.now() + 1,
      step: 'day',
      instance: id,
    });
    assert.ok(usage !== undefined && usage.dataBytes !== null && usage.requests > 1);
  },
);
