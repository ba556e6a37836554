import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApp } from '../../src/app.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { readConfig } from '../../src/config.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { abortedResult } from '../../src/webhooks/sending/attempt-result.ts';
import { createEndpoint, setEndpointStatus } from '../../src/webhooks/endpoints/change-endpoint.ts';
import { readDue, readPendings } from '../../src/webhooks/deliveries.ts';
import { afterAttempt, soleOwnership } from '../../src/webhooks/delivery.ts';
import { settle } from '../../src/webhooks/settle.ts';
import { eventually } from '../support/eventually.ts';
import { ask, openTestPostgres } from '../support/postgres.ts';
import { createRecord } from '../support/write-records.ts';

const key = '0056e30c23e3d6d1d258f141e4d8b44df26abf8475fec988b58013ec98633d94';
const backlog = 400;

test('on PostgreSQL a delivery is settled by its id, though statistics know of none that is pending', async (t) => {
  const url = await (await openTestPostgres()).createDatabase();
  const flags = { postgres: url, port: '0', dev: true, 'log-level': 'error' };
  const app = await startApp(readConfig(flags, { CHANCERY_KEY: key }));
  t.after(() => app.stop());
  const entry = app.data.directory.findBySlug('default');
  assert.ok(entry);
  const loan = await app.data.instances.borrow(entry);
  t.after(() => loan.release());
  const { instance } = loan;
  const { database, collections } = instance;
  await createCollection(
    { database, collections, now: Date.now() },
    { name: 'posts', createRule: '', fields: [] },
  );
  const body = { url: 'https://receiver.example.com/' };
  const endpoint = await createEndpoint(instance, body, { allowHttp: false, allowed: [] });
  await setEndpointStatus(instance, endpoint.id, 'paused');
  const facts = ruleInputOfCaller({ kind: 'guest' });
  const fill = (): Promise<unknown> =>
    Promise.all(
      Array.from({ length: backlog }, () => createRecord(instance, facts, { collection: 'posts', body: {} })),
    );
  await fill();
  await ask(url, `UPDATE chancery.delivery SET status = 'delivered'`);
  await ask(url, 'VACUUM ANALYZE chancery.delivery');
  await fill();
  const readByPending = async (): Promise<number> => {
    const [row] = await ask(
      url,
      `SELECT sum(idx_tup_read)::integer AS read FROM pg_stat_user_indexes
       WHERE indexrelname IN ('delivery_pending', 'delivery_instance')`,
    );
    return Number(row?.['read']);
  };
  const { ids } = await readDue(database, endpoint.id, { now: Date.now() + 1_000, limit: 100 });
  const pendings = await readPendings(database, ids);
  assert.equal(pendings.length, 100);
  const success = { ...abortedResult(0, ''), isSuccess: true, kind: 'success', status: 200 } as const;
  const settlements = pendings.map(({ id, state }) => {
    const result = { ...success, deliveryId: id };
    const after = afterAttempt(state, result, { now: Date.now(), schedule: [], random: 0 });
    return { id, after, result, due: state.due, putOffUntil: undefined, isFenced: true };
  });
  await database.write((tx) => settle(tx, settlements, { now: Date.now(), fence: soleOwnership.fence('') }), {
    findsByKey: true,
  });
  await eventually('the server has counted them', async () => {
    const [row] = await ask(
      url,
      `SELECT n_tup_upd::integer AS updates FROM pg_stat_user_tables WHERE relname = 'delivery'`,
    );
    return Number(row?.['updates']) >= backlog + settlements.length;
  });
  // The look for due ones reads a page of them, a few times; a claim or a settlement by such an index would read all of them.
  const read = await readByPending();
  assert.ok(read < backlog * 1.5, `${read} entries of the indexes of pending deliveries were read`);
});
