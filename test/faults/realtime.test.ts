// Both engines: events are read from the log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testEngine } from '../support/test-config.ts';
import { realtimeRun } from './realtime/realtime-run.ts';

// Many more kills: npm run faults -- realtime [--postgres].

test('each follower is told exactly what it may see of the log, in its order and once, with servers that are killed', async (t) => {
  const { violations, ...figures } = await realtimeRun({ engine: testEngine, seed: 7, kills: 3 });
  t.diagnostic(JSON.stringify(figures));
  assert.deepEqual(violations, []);
  assert.ok(figures.changes > 20 && figures.connections > 5);
});
