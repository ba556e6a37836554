import assert from 'node:assert/strict';
import { test } from 'node:test';
import PocketBase from 'pocketbase';
import { describePlaces, remoteRun } from '../support/command-stage.ts';
import { eventually } from '../support/eventually.ts';
import { startService } from '../support/service.ts';

test('seed demo makes a small world on a service, and the first webhook of it comes and is genuine', async (t) => {
  const service = await startService(t, { flags: { dev: 'false' } });
  const { code, stdout, stderr } = await remoteRun(service)(['seed', 'demo', '--json']);
  assert.equal(code, 0, stderr);
  const demo = JSON.parse(stdout);
  assert.deepEqual(demo.records, { customers: 20, products: 30, orders: 150 });
  assert.equal(demo.webhook.event, 'record.create');
  assert.equal(demo.webhook.isGenuine, true);

  const pb = new PocketBase(service.url);
  await pb.collection('customers').authWithPassword(demo.account.email, demo.account.password);
  const own = await pb.collection('orders').getFullList({ expand: 'customer,products' });
  assert.ok(own.length > 0 && own.length < 150);
  assert.equal(own[0]?.expand?.['customer'].email, demo.account.email);
  assert.ok(own.every(({ total }) => total > 0));
  await eventually('all webhooks are delivered', async () => {
    const page = await service.request(`/api/webhooks/deliveries?filter=status='delivered'&perPage=1`, {
      token: true,
    });
    return page.json.totalItems === 150;
  });
});

describePlaces('seed', (start) => {
  test('demo tells how to go on', async (t) => {
    const { run } = await start(t, { collections: [] });
    const { code, stdout } = await run(['seed', 'demo']);
    assert.equal(code, 0);
    assert.match(stdout, /^Created in .+: 20 customers, 30 products, 150 orders\.\n/);
    assert.match(stdout, /(?:signature valid|A running server sends them)\.\n/);
  });

  test('demo makes nothing where a collection of that name is', async (t) => {
    const { run } = await start(t, {
      collections: [{ name: 'orders', fields: [{ name: 'mine', type: 'text' }] }],
    });
    const { code, stdout, stderr } = await run(['seed', 'demo']);
    assert.deepEqual([code, stdout], [65, '']);
    assert.match(
      stderr,
      /^chancery: .* already has collections with these names: orders\. Nothing was created\.\n$/,
    );
    assert.doesNotMatch((await run(['collection', 'list'])).stdout, /products/);
  });

  test('load makes as many records as it is told, and more beside them', async (t) => {
    const { run, ask } = await start(t, { collections: [] });
    const made = await run(['seed', 'load', '--records', '120']);
    assert.match(made.stdout, /^120 records created in load, \d+ per second\.\n$/);
    assert.equal(JSON.parse((await run(['seed', 'load', '--records', '3', '--json'])).stdout).records, 3);
    for (const wrong of ['0', 'x', '1.5'])
      assert.equal((await run(['seed', 'load', '--records', wrong])).code, 64, wrong);
    assert.equal((await run(['seed', 'load'])).code, 64);
    assert.equal((await ask('/api/collections/load/records?perPage=1')).json.totalItems, 123);
  });
});
