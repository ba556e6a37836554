// Both engines: an alert is stored under a condition.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWebhookService } from '../../test/support/webhook-service.ts';
import { sql } from '../sql/sql.ts';
import { alertsAfter, awayAfterMs } from './endpoint-alerts.ts';
import { noAlerts, saveAlert } from './lane-store.ts';
import { closedLane } from './lane.ts';

test('an alert is sent by the node that stores it first, while it owns the instance and the endpoint is unchanged', async (t) => {
  const service = await startWebhookService(t);
  const { id } = await service.addEndpoint();
  await service.withInstance('default', async ({ database, endpoints }) => {
    const endpoint = await endpoints.find(database, id);
    assert.ok(endpoint);
    const { number, updated } = endpoint;
    const row = {
      endpoint: number,
      updated,
      before: noAlerts,
      after: { ...noAlerts, alert: 'open' as const },
    };
    const save = (change: object, fence = sql`TRUE`): Promise<boolean> =>
      database.write((tx) => saveAlert(tx, { ...row, ...change }, fence));
    assert.equal(await save({}, sql`FALSE`), false);
    assert.equal(await save({ updated: 'before' }), false);
    assert.equal(await save({}), true);
    assert.equal(await save({}), false);
  });
});

test('after an alert of recovery, the next alert follows an hour later', () => {
  const lane = { ...closedLane, state: 'open', since: 1 } as const;
  const failed = { isSuccess: false, isExhausted: false };
  const alerts = { ...noAlerts, recoveredAt: 5 * awayAfterMs };
  const kinds = (now: number): readonly string[] =>
    alertsAfter({ alerts, lane }, failed, now).map(({ kind }) => kind);
  assert.deepEqual(kinds(6 * awayAfterMs - 1), []);
  assert.deepEqual(kinds(6 * awayAfterMs), ['away']);
});
