import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { openLogDatabase } from '../../../test/support/log-rows.ts';
import { openPostgresDatabase } from '../../../test/support/postgres-database.ts';
import { LeasedOwnership } from './leased-ownership.ts';

test('a node that renewed its leases late wakes the shards that it still owns', async (t) => {
  const database = await openLogDatabase(t, async (its) => (await openPostgresDatabase(its)).database);
  let aheadMs = 0;
  let gains = 0;
  const clock = { now: () => Date.now(), monotonic: () => performance.now() + aheadMs };
  const logger = { debug: assert.fail, info: assert.fail, warn: assert.fail, error: assert.fail };
  const ownership = new LeasedOwnership({
    database,
    clock,
    logger,
    version: '0',
    steps: 1,
    prepareHandOver: () => Promise.resolve(() => Promise.resolve()),
    onGain: () => void (gains += 1),
  });
  try {
    await ownership.start();
    const epoch = ownership.epochOf('any');
    assert.deepEqual([ownership.owns('any'), gains], [true, 1]);
    // Longer than a lease: it has not been renewed, and no other node has taken it.
    aheadMs = 60_000;
    assert.equal(ownership.owns('any'), false);
    await eventually('it is renewed', () => ownership.owns('any'));
    assert.deepEqual([ownership.epochOf('any'), gains], [epoch, 2]);
  } finally {
    await ownership.stop();
  }
});
