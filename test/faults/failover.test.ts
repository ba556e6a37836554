import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failoverRun } from './failover-run.ts';
import { notInSample } from '../support/sample.ts';

// Promise 1 of webhooks.md section 3, when a database fails over. More rounds: npm run faults -- failover.

test(
  'nothing is lost when the primary dies under load and its synchronous standby takes its place',
  notInSample,
  async (t) => {
    const { violations, ...figures } = await failoverRun(18);
    t.diagnostic(JSON.stringify(figures));
    assert.deepEqual(violations.slice(0, 20), []);
    assert.ok(figures.acknowledged >= 4 * 101);
    assert.ok(figures.unknownKept + figures.unknownLost > 0, 'some change was not answered');
    assert.ok(figures.receipts >= 2 * figures.acknowledged);
  },
);
