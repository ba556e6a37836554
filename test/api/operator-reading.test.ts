// Both engines: usage, quotas, events and backups are rows of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addUsage } from '../../src/logs/add-usage.ts';
import { JobStore } from '../../src/backups/job-store.ts';
import { ScheduleStore } from '../../src/backups/schedule-store.ts';
import { eventually } from '../support/eventually.ts';
import { makeOperatorKey, operatorCaller } from '../support/operator-stage.ts';
import { startWebhookService } from '../support/webhook-service.ts';

const yearMs = 366 * 86_400_000;

test('a program reads its own operator key, whatever its scopes', async (t) => {
  const service = await startWebhookService(t);
  const { id, key } = await makeOperatorKey(service, ['metrics']);
  const call = operatorCaller(service, key);
  const { json, text } = await call(200, 'GET /keys/current');
  assert.deepEqual([json.id, json.name, json.scopes, json.expires], [id, 'test', ['metrics'], '']);
  assert.ok(!text.includes(key));
  await call(403, 'GET /instances');
  await operatorCaller(service, `${key}x`)(401, 'GET /keys/current');
});

test('a program reads how much of each quota is used', async (t) => {
  const service = await startWebhookService(t);
  const { key } = await makeOperatorKey(service);
  const call = operatorCaller(service, key);
  const path = '/instances/default';
  assert.deepEqual((await call(200, `GET ${path}/quotas`)).json.items, []);
  await service.addPost('one');
  const quotas = { records: 10, endpoints: 2, requestsPerSecond: 1_000, realtimeConnections: 5 };
  await call(200, `PATCH ${path}`, { body: { quotas } });
  await service.addEndpoint();
  const read = async (): Promise<unknown> => (await call(200, `GET ${path}/quotas`)).json.items;
  const expected = [
    { name: 'records', used: 1, max: 10 },
    { name: 'endpoints', used: 1, max: 2 },
    { name: 'requestsPerSecond', used: null, max: 1_000 },
    { name: 'realtimeConnections', used: null, max: 5 },
  ];
  // Processes follow a change of quotas within a second.
  await eventually('the quotas are followed', async () => {
    const items = await read();
    return JSON.stringify(sorted(items)) === JSON.stringify(sorted(expected));
  });
  await call(200, `POST ${path}/suspend`);
  const suspended = (await call(200, `GET ${path}/quotas`)).json.items;
  assert.deepEqual(sorted(suspended), sorted(expected.map((one) => ({ ...one, used: null }))));
  await call(404, 'GET /instances/none/quotas');
});

test('a program reads the usage of some instances', async (t) => {
  const service = await startWebhookService(t);
  const { key } = await makeOperatorKey(service);
  const call = operatorCaller(service, key);
  const { home, directory } = service.app.data;
  const ids = await Promise.all(
    ['one', 'two', 'three'].map(
      async (slug) => (await call(201, 'POST /instances', { body: { slug } })).json.id,
    ),
  );
  const usage = ids.map(
    (id, index) => [directory.findShown(id)?.id ?? '', { requests: 10 + index }] as const,
  );
  await addUsage(home.control, new Map(usage), Date.now());
  const slugsOf = async (query: string): Promise<readonly string[]> => {
    const items: readonly { readonly slug: string }[] = (await call(200, `GET /usage?${query}`)).json.items;
    return items.map(({ slug }) => slug);
  };
  assert.deepEqual(await slugsOf(`instances=${ids[0]},${ids[2]}`), ['three', 'one']);
  assert.deepEqual(await slugsOf('instances=nobody'), []);
  await call(400, `GET /usage?instances=${Array.from({ length: 201 }, () => 'a').join(',')}`);
});

test('a program reads the latest events first', async (t) => {
  const service = await startWebhookService(t);
  const { key } = await makeOperatorKey(service);
  const call = operatorCaller(service, key);
  await call(201, 'POST /instances', { body: { slug: 'acme' } });
  for (const step of ['suspend', 'resume']) await call(200, `POST /instances/acme/${step}`);
  const { json: first } = await call(200, 'GET /events?order=desc&perPage=2&wait=30');
  const kindsOf = (items: readonly { readonly kind: string }[]): readonly string[] =>
    items.map(({ kind }) => kind);
  assert.deepEqual(kindsOf(first.items), ['instance.resumed', 'instance.suspended']);
  const { json: second } = await call(200, `GET /events?order=desc&perPage=1&cursor=${first.nextCursor}`);
  assert.deepEqual(kindsOf(second.items), ['instance.created']);
  const { json: all } = await call(200, 'GET /events?order=desc');
  const { json: forward } = await call(200, 'GET /events');
  const items: readonly unknown[] = all.items;
  assert.deepEqual(items.toReversed(), forward.items);
  // It ends at once, as nothing is older.
  const { json: end } = await call(200, `GET /events?order=desc&wait=30&cursor=${all.nextCursor}`);
  assert.deepEqual(end, { items: [], nextCursor: all.nextCursor });
  await call(400, 'GET /events?order=newest');
});

test('a program reads the backups of one instance, and which are overdue', async (t) => {
  const service = await startWebhookService(t);
  const { key } = await makeOperatorKey(service);
  const call = operatorCaller(service, key);
  const path = '/instances/default/backups';
  const { json: none } = await call(200, `GET ${path}`);
  assert.deepEqual(
    [none.slug, none.isOverdue, none.lastBackup, none.failure],
    ['default', false, null, null],
  );
  await call(204, `POST ${path}`);
  const { home } = service.app.data;
  // Once a year, so that none is due during the test.
  await new ScheduleStore(home.background).set('', '0 0 1 1 *', Date.now());
  const { json: fresh } = await call(200, `GET ${path}`);
  assert.deepEqual([fresh.isOverdue, fresh.lastBackup.state], [false, 'done']);
  const jobs = new JobStore(home.background, { now: () => Date.now() - 3 * yearMs });
  const job = await jobs.begin(
    { instance: fresh.instance, kind: 'backup', backup: 'old.zip', place: '', isAuto: false },
    'test',
  );
  await jobs.end(job, { state: 'done', bytes: 1, message: '' });
  assert.equal((await call(200, `GET ${path}`)).json.isOverdue, true);
  const { json: all } = await call(200, 'GET /backups');
  assert.deepEqual([all.cron, all.items[0].isOverdue], ['0 0 1 1 *', true]);
  await call(404, 'GET /instances/none/backups');
});

function sorted(items: unknown): readonly unknown[] {
  // Answers are JSON of any shape; this one is a list of quotas.
  return (items as readonly { readonly name: string }[]).toSorted((one, other) =>
    one.name < other.name ? -1 : 1,
  );
}
