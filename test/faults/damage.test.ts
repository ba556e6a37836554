// It overwrites pages of an SQLite file: test/nodes/damaged-server.test.ts does so with PostgreSQL.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Flags } from '../../src/config/config.ts';
import { StorageDamage } from '../../src/storage/engine-errors.ts';
import { addIndexOfOtherColumn, damagePageOf, onlyDataFile } from '../support/damage-table.ts';
import { eventually } from '../support/eventually.ts';
import { Scrape } from '../support/exposition.ts';
import { startService, type TestService } from '../support/service.ts';

const posts = '/api/collections/posts/records';
const notes = '/api/collections/notes/records';
const lastCheck = 'chancery_page_check_timestamp_seconds';
const checks = (outcome: string): string => `chancery_page_checks_total{outcome="${outcome}"}`;

async function startBlog(t: TestContext, flags: Flags = {}): Promise<TestService> {
  const service = await startService(t, { flags: { 'metrics-port': '0', ...flags } });
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
  // What is whole is served, and other instances are none the worse.
  await service.app.data.directory.create('whole', null);
  assert.equal((await service.request('/i/whole/api/health/ready')).status, 200);
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

async function readinessOf(service: TestService): Promise<string> {
  const { status, json } = await service.request('/api/health/ready');
  return status === 200 ? 'ready' : json.data.reason;
}

// Every 1.8 seconds.
const often = { 'check-hours': '0.0005' };

test('damage that nobody has met is found in the background, and is over when the file is whole', async (t) => {
  const service = await startBlog(t, often);
  await eventually('all was looked through', async () => (await metric(service, lastCheck)) > 0);
  assert.equal(await metric(service, checks('damaged')), 0);
  assert.equal(await readinessOf(service), 'ready');
  const repair = damagePageOf(onlyDataFile(service.data), 'notes');
  await eventually('it is found', async () => (await readinessOf(service)) === 'damage');
  assert.ok((await metric(service, checks('damaged'))) > 0);
  await eventually('it is audited', async () => {
    const { json } = await service.request("/api/audit?filter=(action='instance.damage')", { token: true });
    return json.items.length === 1 && json.items[0].details.problems.length > 0;
  });
  repair();
  await eventually('the service is ready', async () => (await readinessOf(service)) === 'ready');
  assert.equal((await service.request(notes)).status, 200);
});

test('damage of an index alone is not forgotten before the index is whole', async (t) => {
  const service = await startBlog(t, often);
  assert.equal((await create(service, notes)).status, 201);
  const file = onlyDataFile(service.data);
  const repair = addIndexOfOtherColumn(file, 'notes');
  const [{ id } = { id: '' }] = service.app.data.directory.all();
  // As a request meets it that deletes the record.
  service.app.data.home.health.note(id, new StorageDamage(['an entry of an index is missing']));
  const found = async (): Promise<number> => await metric(service, checks('damaged'));
  await eventually('it was looked through twice', async () => (await found()) >= 2);
  assert.equal(await readinessOf(service), 'damage');
  repair();
  await eventually('the service is ready', async () => (await readinessOf(service)) === 'ready');
});
