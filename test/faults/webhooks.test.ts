import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ledgerRun } from './ledger/ledger-run.ts';

// Promises 1 to 3 of webhooks.md section 3, with receivers of all kinds. Many more kills, and nodes: npm run faults -- webhooks.

test('the ledger of webhooks balances after kill -9 with receivers that fail and owners that change their minds', async (t) => {
  const { violations, ...figures } = await ledgerRun({ engine: 'sqlite', seed: 3, kills: 4, endpoints: 6 });
  t.diagnostic(JSON.stringify(figures));
  assert.deepEqual(violations.slice(0, 20), []);
  assert.ok(figures.acknowledged > 0 && figures.delivered > 0, 'something was written and delivered');
  assert.ok(figures.inFlightAtKills > 0, 'a server died with webhooks under way');
});
