import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notInSample } from '../support/sample.ts';
import { postgresRun } from './postgres-run.ts';

// Promises 1 and 2 of webhooks.md section 3, on two nodes. More rounds: npm run faults -- postgres.

test(
  'nothing is lost when a node dies, PostgreSQL crashes and connections are cut, all under load',
  notInSample,
  async (t) => {
    const result = await postgresRun({ seed: 17, rounds: 1 });
    const { violations, ...figures } = result;
    t.diagnostic(JSON.stringify(figures));
    assert.deepEqual(violations.slice(0, 20), []);
    assert.ok(result.acknowledged >= 4 * 225);
    // Without both the faults have not hit anything.
    assert.ok(result.unknownKept + result.unknownLost > 0, 'some change was not answered');
    assert.ok(result.receipts >= 2 * result.acknowledged);
  },
);
