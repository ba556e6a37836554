// Both engines: how much is used is counted by the database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRecordQuota } from '../../src/collections/table-quotas.ts';
import { QuotaWatch } from '../../src/instances/quota-watch.ts';
import type { Quotas } from '../../src/instances/quotas.ts';
import { eventually } from '../support/eventually.ts';
import { logInto } from '../support/log-into.ts';
import { makeOperatorKey } from '../support/operator-stage.ts';
import { startService } from '../support/service.ts';
import { listOf, startWebhookService } from '../support/webhook-service.ts';

test('80 and 100 % of a quota are audited and logged once each, whoever looks, and again after less was used', async (t) => {
  const service = await startService(t);
  const ask = async (method: string, path: string, body?: object): Promise<{ readonly id: string }> =>
    (await service.request(path, { method, token: true, body })).json;
  const { directory, instances } = service.app.data;
  const limit = async (quotas: Quotas): Promise<void> => {
    await directory.setQuotas(directory.findBySlug('default')?.id ?? '', quotas);
    await eventually('the quota holds', () =>
      service.withInstance(
        'default',
        async ({ database }) => (await readRecordQuota(database))?.max === quotas.records,
      ),
    );
  };
  await ask('POST', '/api/collections', { name: 'posts', fields: [{ name: 'title', type: 'text' }] });
  await limit({ records: 5, endpoints: 3 });
  const logger = logInto([]);
  const { home, dueClock: clock } = service.app.data;
  const connections = (): ReadonlyMap<string, number> => new Map();
  const parts = { instances, connections, control: home.background, clock, logger };
  const watches = [0, 1].map(() => new QuotaWatch(parts));
  const look = async (): Promise<readonly unknown[]> => {
    for (const watch of watches) await watch.look();
    const { json } = await service.request('/api/audit?filter=action="quota.reached"&sort=created', {
      token: true,
    });
    const items: readonly { readonly details: { readonly quota: string; readonly percent: number } }[] =
      json.items;
    return items.map(({ details }) => [details.quota, details.percent]);
  };
  const created: string[] = [];
  const create = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1)
      created.push((await ask('POST', '/api/records/posts', {})).id);
  };
  await create(3);
  assert.deepEqual(await look(), []);
  assert.deepEqual([...(watches[0]?.ratios ?? [])], [['default', 0.6]]);
  await create(1);
  assert.deepEqual(await look(), [['records', 80]]);
  assert.deepEqual(await look(), [['records', 80]]);
  await create(1);
  const both = [
    ['records', 80],
    ['records', 100],
  ];
  assert.deepEqual(await look(), both);
  await ask('DELETE', `/api/records/posts/${created[0]}`);
  await ask('DELETE', `/api/records/posts/${created[1]}`);
  assert.deepEqual(await look(), both);
  await create(1);
  assert.deepEqual(await look(), [...both, ['records', 80]]);
  const lines = service.log.filter(({ message }) => message.includes('used up a quota'));
  assert.deepEqual(
    lines.map(({ members }) => [members['quota'], members['percent']]),
    [...both, ['records', 80]],
  );
  const { key } = await makeOperatorKey(service);
  const events = await service.request('/api/operator/events', { token: key });
  const items: readonly { readonly kind: string; readonly data: { readonly percent?: number } }[] =
    events.json.items;
  assert.deepEqual(
    items.filter(({ kind }) => kind.startsWith('quota.')).map((event) => [event.kind, event.data.percent]),
    [
      ['quota.warning', 80],
      ['quota.reached', 100],
      ['quota.warning', 80],
    ],
  );
  const { data } = (await service.request('/api/health', { token: true })).json;
  assert.deepEqual(data.quotas, { records: { used: 4, max: 5 }, endpoints: { used: 0, max: 3 } });
  await limit({});
  assert.equal((await service.request('/api/health', { token: true })).json.data.quotas, undefined);
});

test('80 and 100 % of the deliveries of a day are audited, logged and in the feed', async (t) => {
  const service = await startWebhookService(t);
  const { directory, instances, home, dueClock: clock } = service.app.data;
  await directory.setQuotas(directory.findBySlug('default')?.id ?? '', { deliveriesPerDay: 5 });
  await service.addEndpoint();
  const connections = (): ReadonlyMap<string, number> => new Map();
  const watch = new QuotaWatch({
    instances,
    connections,
    control: home.background,
    clock,
    logger: logInto([]),
  });
  const deliver = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) await service.addPost();
    await eventually(
      'all are delivered',
      async () => (await service.deliveries('status="pending"')).length === 0,
    );
    await watch.look();
  };
  await deliver(3);
  const told = (): readonly unknown[] =>
    service.log
      .filter(({ message }) => message.includes('used up a quota'))
      .map(({ members }) => [members['quota'], members['percent']]);
  assert.deepEqual(told(), []);
  await deliver(1);
  assert.deepEqual(told(), [['deliveriesPerDay', 80]]);
  await deliver(1);
  assert.deepEqual(told(), [
    ['deliveriesPerDay', 80],
    ['deliveriesPerDay', 100],
  ]);
  const audit = await service.call('GET', '/api/audit?filter=action="quota.reached"&sort=created');
  const details = { quota: 'deliveriesPerDay', max: 5 };
  assert.deepEqual(
    listOf(audit.items).map((entry) => entry.details),
    [
      { ...details, percent: 80, used: 4 },
      { ...details, percent: 100, used: 5 },
    ],
  );
  const { key } = await makeOperatorKey(service);
  const events = (await service.request('/api/operator/events', { token: key })).json;
  assert.deepEqual(
    listOf(events.items)
      .filter(({ kind }) => String(kind).startsWith('quota.'))
      .map(({ kind, data }) => [kind, data.used]),
    [
      ['quota.warning', 4],
      ['quota.reached', 5],
    ],
  );
});
