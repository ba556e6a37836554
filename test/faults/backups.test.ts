// Both engines: each builds a backup beside the instance, and puts it in its place, by its own means.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testEngine } from '../support/test-config.ts';
import { backupsRun } from './backups/backups-run.ts';

// Many more rounds and kills: npm run faults -- backups [--engine sqlite|postgres].

test('a restored instance is its backup and nothing else, while clients write and webhooks are on their way', async (t) => {
  const { violations, ...figures } = await backupsRun({
    engine: testEngine,
    seed: 5,
    rounds: 6,
    killShare: 0.1,
  });
  t.diagnostic(JSON.stringify(figures));
  assert.deepEqual(violations.slice(0, 20), []);
  assert.ok(figures.acknowledged > 0 && figures.backups > 0, 'something was written and backed up');
});
