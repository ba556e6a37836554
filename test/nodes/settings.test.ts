import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { NodeGroup } from './node-group.ts';

test('settings that were changed through one node are in force on the other, and changes through both are kept', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  const isBatchAllowed = async (): Promise<boolean> =>
    (await group.ask(b, 'POST /api/batch', { requests: [] })).status !== 403;
  assert.equal(await isBatchAllowed(), true);
  await group.get(a, 'PATCH /api/settings', { batch: { enabled: false } });
  // Without being asked for the settings, which it would then read.
  await eventually('batches are refused by the other node', async () => !(await isBatchAllowed()));
  await Promise.all([
    group.get(a, 'PATCH /api/settings', { meta: { appName: 'a' } }),
    group.get(b, 'PATCH /api/settings', { logs: { maxDays: 7 } }),
  ]);
  for (const app of [a, b]) {
    const { meta, logs, batch } = await group.get(app, 'GET /api/settings');
    assert.deepEqual([meta.appName, logs.maxDays, batch.enabled], ['a', 7, false]);
  }
  assert.deepEqual(group.log, []);
});
