import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApp } from '../../src/app.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { readConfig } from '../../src/config/config.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import type { Sql } from '../../src/sql/sql.ts';
import { abortedResult } from '../../src/sending/attempt-result.ts';
import { createEndpoint, setEndpointStatus } from '../../src/deliveries/endpoints/change-endpoint.ts';
import { readPendings, sendAnyway } from '../../src/deliveries/deliveries.ts';
import { afterAttempt, soleOwnership } from '../../src/deliveries/delivery.ts';
import { settle } from '../../src/dispatch/settle.ts';
import { explain } from '../plans/explain.ts';
import { recordedDatabase } from '../plans/recorded-database.ts';
import { atEnd } from '../support/at-end.ts';
import { ask, openTestPostgres } from '../support/postgres.ts';
import { createRecord } from '../support/write-records.ts';
import { deliveryKeys } from '../support/delivery-rows.ts';

const key = '0056e30c23e3d6d1d258f141e4d8b44df26abf8475fec988b58013ec98633d94';
const backlog = 400;

test('on PostgreSQL a delivery is settled by its id, though statistics know of none that is pending', async (t) => {
  const url = await (await openTestPostgres()).createDatabase();
  const flags = { postgres: url, port: '0', dev: true, 'log-level': 'error' };
  const app = await startApp(readConfig(flags, { CHANCERY_KEY: key }));
  atEnd(t, () => app.stop());
  const entry = app.data.directory.findBySlug('default');
  assert.ok(entry);
  const loan = await app.data.instances.borrow(entry);
  atEnd(t, () => loan.release());
  const { instance } = loan;
  const { database, collections } = instance;
  await createCollection(
    { database, collections, now: Date.now() },
    { name: 'posts', createRule: '', fields: [] },
  );
  const body = { url: 'https://receiver.example.com/' };
  const endpoint = await createEndpoint(instance, body, { allowHttp: false, allowed: [] });
  await setEndpointStatus(instance, endpoint.id, 'paused');
  const input = ruleInputOfCaller({ kind: 'guest' });
  const fill = (): Promise<unknown> =>
    Promise.all(
      Array.from({ length: backlog }, () => createRecord(instance, input, { collection: 'posts', body: {} })),
    );
  await fill();
  // All of them have failed, and are over by now.
  const outcomes = `INSERT INTO chancery.outcome (instance_id, event, endpoint, due, attempts, is_wide, status, cause, updated)
    SELECT d.instance_id, d.event, d.endpoint, 1, 1, 0, 'pending', '', '' FROM chancery.delivery d
    ON CONFLICT DO NOTHING`;
  await ask(url, outcomes);
  await ask(url, `UPDATE chancery.outcome SET status = 'delivered'`);
  await ask(url, 'VACUUM ANALYZE chancery.outcome');
  await fill();
  await ask(url, outcomes);
  const keys = (await deliveryKeys(database)).slice(-100);
  const pendings = await readPendings(database, {
    keys,
    policyOf: () => sendAnyway,
    instance,
    now: Date.now(),
  });
  assert.equal(pendings.length, 100);
  const success = { ...abortedResult(0, ''), isSuccess: true, kind: 'success', status: 200 } as const;
  const settlements = pendings.map(({ id, key, state }) => {
    const result = { ...success, deliveryId: id };
    const after = afterAttempt(state, result, { now: Date.now(), schedule: [], random: 0 });
    return {
      key,
      after,
      result,
      record: '',
      isOrdered: false,
      due: state.due,
      postponedUntil: undefined,
      isFenced: true,
      committedAt: 0,
      batch: undefined,
    };
  });
  const noted: Sql[] = [];
  const recorded = recordedDatabase(database, (statement) => void noted.push(statement));
  await recorded.write((tx) => settle(tx, settlements, { now: Date.now(), fence: soleOwnership.fence('') }), {
    findsByKey: true,
  });
  const update = noted.find(({ text }) => /^\s*UPDATE \S*outcome\W/.test(text));
  assert.ok(update, noted.map(({ text }) => text).join('\n'));
  const plan = (await explain(database, update)).join('\n');
  assert.match(plan, /Index Scan using outcome_1_pkey/);
  assert.doesNotMatch(plan, /outcome_1_(?:due|instance|failed)/);
});
