// Both engines: requests wait above them.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Database } from '../../src/storage/database.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyDatabase } from '../support/faulty-database.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

/** A service with the instances `default` and `other`, and the database of `default`, whose lists of posts wait until they are released. */
async function setUp(t: TestContext): Promise<{
  readonly service: TestService;
  readonly database: FaultyDatabase;
  readonly release: () => void;
}> {
  const databases: FaultyDatabase[] = [];
  const wrapDatabase = (database: Database): FaultyDatabase => {
    const faulty = new FaultyDatabase(database);
    databases.push(faulty);
    return faulty;
  };
  const service = await startService(t, { flags: { 'host-threads': '0' }, parts: { wrapDatabase } });
  const open = { name: 'posts', listRule: '', fields: [{ name: 'title', type: 'text' }] };
  await service.request('/api/collections', { method: 'POST', token: true, body: open });
  const [database] = databases;
  assert.ok(database !== undefined);
  await service.app.data.directory.create('other', null);
  const release = database.holdReads('"posts"');
  t.after(release);
  return { service, database, release };
}

/** Returns the answers that have come so far. */
function answersOf(requests: readonly Promise<TestAnswer>[]): readonly TestAnswer[] {
  const answers: TestAnswer[] = [];
  for (const request of requests) void request.then((answer) => answers.push(answer));
  return answers;
}

function list(service: TestService, count: number): readonly Promise<TestAnswer>[] {
  return Array.from({ length: count }, (_, index) => service.request(`/api/records/posts?page=${index + 1}`));
}

test('beside another instance 20 requests run at once, and those that wait for a second get 503', async (t) => {
  const { service, database, release } = await setUp(t);
  assert.equal((await service.request('/i/other/api/health')).status, 200);
  const requests = list(service, 30);
  await eventually('20 of them run', () => database.heldCount === 20);
  assert.equal((await service.request('/i/other/api/health')).status, 200);
  const refused = answersOf(requests);
  await eventually('ten are refused', () => refused.length === 10);
  for (const { status, headers } of refused)
    assert.deepEqual([status, headers.get('retry-after')], [503, '1']);
  assert.equal(database.heldCount, 20);
  release();
  const statuses = (await Promise.all(requests)).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 200).length, 20);
});

test('alone an instance runs all of its requests, unless it has a quota of concurrent ones', async (t) => {
  const { service, database, release } = await setUp(t);
  const requests = list(service, 30);
  await eventually('all of them run', () => database.heldCount === 30);
  release();
  await Promise.all(requests);
  const { directory } = service.app.data;
  await directory.setQuotas(directory.findBySlug('default')?.id ?? '', { concurrentRequests: 2 });
  const releaseAgain = database.holdReads('"posts"');
  const limited = list(service, 5);
  await eventually('two of them run', () => database.heldCount === 32);
  const refused = answersOf(limited);
  await eventually('three are refused', () => refused.length === 3);
  assert.ok(refused.every(({ status }) => status === 503));
  assert.equal(database.heldCount, 32);
  releaseAgain();
  await Promise.all(limited);
});
