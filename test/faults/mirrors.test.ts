// Both engines: copies are decided in transactions, from the log and by reconciles.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testEngine } from '../support/test-config.ts';
import { mirrorsRun } from './mirrors/mirrors-run.ts';

// Many more kills: npm run faults -- mirrors [--postgres].

test('each copy ends with what its caller may see, and gets nothing else, with servers that are killed', async (t) => {
  const { violations, ...figures } = await mirrorsRun({ engine: testEngine, seed: 11, kills: 2 });
  t.diagnostic(JSON.stringify(figures));
  assert.deepEqual(violations, []);
  assert.ok(figures.writes > 20 && figures.transitions > 0);
});
