import { factsOfCaller } from '../../src/rules/request-facts.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { startApp } from '../../src/app.ts';
import { upsertSuperuser } from '../../src/auth/superuser.ts';
import { createCollection } from '../../src/collections/change-collection.ts';
import type { Instance } from '../../src/instances/instance.ts';
import { createRecord } from '../../src/records/create-record.ts';
import { deleteRecord } from '../../src/records/delete-record.ts';
import { readRecord } from '../../src/records/read-record.ts';
import { valueOf } from '../../src/records/record.ts';
import { updateRecord } from '../../src/records/update-record.ts';
import { createEndpoint, setEndpointStatus } from '../../src/webhooks/change-endpoint.ts';
import { startCountingProxy } from '../support/counting-proxy.ts';
import { openTestPostgres } from '../support/postgres.ts';

const facts = factsOfCaller({ kind: 'guest' });
const key = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f';

test('on PostgreSQL a create takes two round trips, an update and a delete three, a view one', async (t) => {
  const url = new URL(await (await openTestPostgres()).createDatabase());
  const proxy = await startCountingProxy(t, Number(url.port));
  url.port = String(proxy.port);
  const config = readConfig(
    { postgres: url.href, port: '0', dev: true, 'log-level': 'error' },
    { CHANCERY_KEY: key },
  );
  const app = await startApp(config);
  t.after(() => app.stop());
  const entry = app.data.directory.findBySlug('default');
  assert.ok(entry);
  const loan = await app.data.instances.borrow(entry);
  t.after(() => loan.release());
  const { instance } = loan;
  await prepare(instance);
  const create = (): ReturnType<typeof createRecord> =>
    createRecord(instance, facts, { collection: 'posts', body: { title: 'x' } });

  /** The least of many: looks of the background go through the same proxy. */
  const roundTrips = async (work: () => Promise<unknown>): Promise<number> => {
    let least = Number.POSITIVE_INFINITY;
    for (let again = 0; again < 10; again += 1) {
      const before = proxy.roundTrips;
      await work();
      least = Math.min(least, proxy.roundTrips - before);
    }
    return least;
  };
  const id = String(valueOf(await create(), 'id'));
  let count = 0;
  const title = (): { readonly title: string } => ({ title: `title ${(count += 1)}` });
  assert.equal(await roundTrips(create), 2);
  assert.equal(await roundTrips(() => readRecord(instance, facts, { collection: 'posts', id })), 1);
  assert.equal(
    await roundTrips(() => updateRecord(instance, facts, { collection: 'posts', id, body: title() })),
    3,
  );
  const ids = await Promise.all(
    Array.from({ length: 10 }, async () => String(valueOf(await create(), 'id'))),
  );
  const remove = (): Promise<void> =>
    deleteRecord(instance, facts, { collection: 'posts', id: ids.pop() ?? '' });
  assert.equal(await roundTrips(remove), 3);
});

/** A collection for everybody, and an endpoint that wants all of it and is sent nothing. */
async function prepare(instance: Instance): Promise<void> {
  await upsertSuperuser(instance, 'root@example.com', 'correct horse');
  const rules = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
  const change = { database: instance.database, collections: instance.collections, now: Date.now() };
  await createCollection(change, { name: 'posts', ...rules, fields: [{ name: 'title', type: 'text' }] });
  const body = { url: 'https://receiver.example.com/' };
  const endpoint = await createEndpoint(instance, body, { allowHttp: false, allowed: [] });
  await setEndpointStatus(instance, endpoint.id, 'paused');
}
