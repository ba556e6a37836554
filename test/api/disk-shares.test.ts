// Both engines: what of an instance is on the disk differs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { formOf, formType } from '../support/file-stage.ts';
import { makeOperatorKey, operatorCaller } from '../support/operator-stage.ts';
import { startService, type TestAnswer } from '../support/service.ts';
import { testEngine } from '../support/test-config.ts';
import { listOf } from '../support/webhook-service.ts';

const reserveBytes = 1_000_000;
/** Several looks at the disk. */
const lookedMsMax = 20_000;

const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
const fields = [
  { name: 'title', type: 'text' },
  { name: 'paper', type: 'file', maxSelect: 1 },
];
const docs = { name: 'docs', ...open, fields };

test('while a disk is low, an instance above its share is refused what takes room, and its neighbour is not', async (t) => {
  let freeBytes = reserveBytes;
  const service = await startService(t, {
    flags: { 'disk-reserve': String(reserveBytes) },
    parts: { readSpace: () => Promise.resolve({ totalBytes: 1e9, freeBytes }) },
  });
  const { key } = await makeOperatorKey(service);
  const operator = operatorCaller(service, key);
  for (const slug of ['large', 'small'])
    await operator(201, 'POST /instances', { body: { slug, collections: [docs] } });
  const path = (slug: string): string => `/i/${slug}/api/collections/docs/records`;
  const create = (slug: string): Promise<TestAnswer> =>
    service.request(path(slug), { method: 'POST', body: { title: 'x' } });
  const upload = async (slug: string, size: number): Promise<{ readonly status: number }> =>
    fetch(`${service.url}${path(slug)}`, {
      method: 'POST',
      body: new Uint8Array(formOf([['paper', 'x'.repeat(size), 'paper.txt']])),
      headers: { 'content-type': formType },
    });
  assert.equal((await upload('large', 3_000_000)).status, 201);
  const { id } = (await create('large')).json;
  assert.equal((await upload('small', 10)).status, 201);

  freeBytes = reserveBytes - 1;
  await eventually('it is refused', async () => (await upload('large', 10)).status === 507, lookedMsMax);
  assert.equal((await upload('small', 10)).status, 201);
  assert.equal((await create('small')).status, 201);
  // The disk of a database is not ours to see.
  const isData = testEngine === 'sqlite';
  const refused = await create('large');
  assert.equal(refused.status, isData ? 507 : 201);
  const changes = [
    service.request(`${path('large')}/${id}`, { method: 'PATCH', body: { title: 'y' } }),
    service.request('/i/large/api/batch', {
      method: 'POST',
      body: { requests: [{ method: 'POST', url: '/api/collections/docs/records', body: {} }] },
    }),
  ];
  for (const { status } of await Promise.all(changes)) assert.equal(status, isData ? 507 : 200);
  if (isData) {
    const message = 'The disk is nearly full, and the instance uses more than its share of it.';
    assert.deepEqual(refused.json, {
      status: 507,
      message,
      data: { disk: { code: 'disk_share_exceeded', message } },
    });
    assert.equal(refused.headers.get('retry-after'), '30');
  }
  assert.equal((await service.request(path('large'))).status, 200);
  assert.equal((await service.request(`${path('large')}/${id}`, { method: 'DELETE' })).status, 204);

  const metricsOf = async (): Promise<readonly string[]> =>
    (await operator(200, 'GET /metrics')).text.split('\n').filter((line) => line.startsWith('chancery_disk'));
  const holds = isData ? 'all' : 'files';
  await eventually(
    'the metrics say so',
    async () => (await metricsOf()).includes(`chancery_disk_low{holds="${holds}"} 1`),
    lookedMsMax,
  );
  assert.ok((await metricsOf()).includes(`chancery_disk_free_bytes{holds="${holds}"} ${freeBytes}`));

  // At the limit it stays as it is.
  freeBytes = reserveBytes * 1.3;
  await eventually('it is not refused', async () => (await upload('large', 10)).status === 201, lookedMsMax);
  assert.equal((await create('large')).status, 201);
  const told = async (): Promise<readonly unknown[]> =>
    listOf((await operator(200, 'GET /events')).json.items)
      .filter((event) => String(event.kind).startsWith('disk.'))
      .map((event) => [event.kind, event.instance, event.data.holds, event.data.freeBytes]);
  const events = [
    ['disk.low', '', holds, reserveBytes - 1],
    ['disk.recovered', '', holds, reserveBytes * 1.3],
  ];
  await eventually('both are told', async () => (await told()).length === 2, lookedMsMax);
  assert.deepEqual(await told(), events);
  const lines = service.log.filter(({ message }) => message.startsWith('The disk '));
  assert.deepEqual(
    lines.map(({ level, members }) => [level, members['holds']]),
    [
      ['warn', holds],
      ['info', holds],
    ],
  );
});
