import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ledgerRun } from './ledger/ledger-run.ts';

// Promises 1 to 3 of webhooks.md section 3, with receivers of all kinds. Many more kills, nodes and moves: npm run faults -- webhooks.

test('the ledger of webhooks balances after kill -9 with receivers that fail and owners that change their minds', async (t) => {
  let inFlightAtKills = 0;
  // On a busy machine servers may die before anything is on its way: then others do.
  for (let seed = 3; seed < 8 && inFlightAtKills === 0; seed += 1) {
    const { violations, ...figures } = await ledgerRun({ engine: 'sqlite', seed, kills: 4, endpoints: 6 });
    t.diagnostic(JSON.stringify({ seed, ...figures }));
    assert.deepEqual(violations.slice(0, 20), []);
    assert.ok(figures.acknowledged > 0 && figures.delivered > 0, 'something was written and delivered');
    ({ inFlightAtKills } = figures);
  }
  assert.ok(inFlightAtKills > 0, 'a server died with webhooks under way');
});

test('it balances after kill -9 while instances are moved between threads', async (t) => {
  const size = { instances: 2, kills: 3, endpoints: 4 };
  const { violations, ...figures } = await ledgerRun({ engine: 'sqlite', seed: 11, isMoving: true, ...size });
  t.diagnostic(JSON.stringify(figures));
  assert.deepEqual(violations.slice(0, 20), []);
  assert.ok(figures.moves > 0 && figures.delivered > 0, 'something was moved and delivered');
});
