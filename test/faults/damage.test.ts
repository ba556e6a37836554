// One engine is enough: it overwrites pages of an SQLite file. test/nodes/damaged-server.test.ts does so with PostgreSQL.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { damagePageOf, onlyDataFile } from '../support/damage-table.ts';
import { eventually } from '../support/eventually.ts';
import { Scrape } from '../support/exposition.ts';
import { startService, type TestService } from '../support/service.ts';

const posts = '/api/collections/posts/records';
const notes = '/api/collections/notes/records';

async function startBlog(t: TestContext): Promise<TestService> {
  const service = await startService(t, { flags: { 'metrics-port': '0' } });
  const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
  for (const name of ['posts', 'notes']) {
    const fields = [{ name: 'title', type: 'text' }];
    const body = { name, type: 'base', fields, ...open };
    const { status } = await service.request('/api/collections', { method: 'POST', token: true, body });
    assert.equal(status, 200);
  }
  assert.equal((await create(service, posts)).status, 201);
  return service;
}

function create(service: TestService, path: string): ReturnType<TestService['request']> {
  return service.request(path, { method: 'POST', body: { title: 'x' } });
}

async function metric({ app }: TestService, series: string): Promise<number> {
  assert.ok(app.metricsUrl !== undefined);
  return (await Scrape.of(app.metricsUrl)).of(series);
}

test('damage that a request meets is a 503 that names nothing, an entry of the audit log and a metric', async (t) => {
  const service = await startBlog(t);
  const file = onlyDataFile(service.data);
  damagePageOf(file, 'posts');
  // A commit: pages that were read before are read again.
  assert.equal((await create(service, notes)).status, 201);
  for (const [what, answer] of [
    ['a list', await service.request(posts)],
    ['a write', await create(service, posts)],
  ] as const) {
    const { status, headers, json } = answer;
    assert.deepEqual([status, headers.get('retry-after')], [503, '30'], what);
    assert.deepEqual(json.data, {});
    assert.equal(json.message, 'The service is not available, try again later.');
  }
  const ready = await service.request('/api/health/ready');
  assert.equal(ready.status, 503);
  assert.deepEqual(ready.json.data, { reason: 'damage' });
  // What is whole is served.
  assert.equal((await create(service, notes)).status, 201);
  assert.equal((await service.request(notes)).json.totalItems, 2);

  await eventually('it is audited', async () => {
    const { json } = await service.request("/api/audit?filter=(action='instance.damage')", { token: true });
    return json.items.length === 1 && json.items[0].actor === 'operator';
  });
  assert.equal(await metric(service, 'chancery_storage_faults{kind="damage"}'), 1);
  const failures = await metric(service, 'chancery_storage_failures_total{kind="damage"}');
  assert.ok(failures >= 2, `${failures} failures`);
  const told = service.log.filter(({ message }) => message.startsWith('Stored data is damaged'));
  assert.deepEqual(
    told.map(({ level }) => level),
    ['error'],
    'it is told once',
  );
});
