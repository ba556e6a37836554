import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crashPoints } from './crash-points.ts';
import { faultRun, type Ending } from './fault-run.ts';

// Invariants 1 and 5 of ARCHITECTURE.md, with a process that really dies. Many more rounds: npm run faults.

test('nothing is lost, invented or half there after kill -9 at every named point', async (t) => {
  const endings = crashPoints.map((point, index): Ending => {
    return { kind: 'crash', plan: { point, hit: 5 + index * 3 } };
  });
  const result = await faultRun({ seed: 7, endings });
  assert.deepEqual(result.violations, []);
  // Without both kinds of unanswered changes and a webhook that came twice, the run has not been where it hurts.
  assert.ok(result.unknownKept > 0, 'a change was committed and not answered');
  assert.ok(result.unknownLost > 0, 'a change was neither committed nor answered');
  assert.ok(result.duplicates > 0, 'a webhook was sent and its outcome not stored');
  assert.ok(result.acknowledged > crashPoints.length * 5);
  t.diagnostic(
    `${result.acknowledged} acknowledged, ${result.receipts} received, ${result.duplicates} twice`,
  );
});

test('nothing is lost after kill -9 at random times under load', async (t) => {
  const endings = [60, 250, 400].map((afterMs): Ending => ({ kind: 'kill', afterMs }));
  const result = await faultRun({ seed: 11, endings });
  assert.deepEqual(result.violations, []);
  t.diagnostic(`${result.acknowledged} acknowledged, ready in ${result.readyMsMax.toFixed(0)} ms at most`);
});

test('a graceful stop under load loses nothing and sends nothing twice', async (t) => {
  const endings = [40, 80].map((count): Ending => ({ kind: 'stop', afterAcknowledged: count }));
  const result = await faultRun({ seed: 13, endings });
  assert.deepEqual(result.violations, []);
  assert.equal(result.duplicates, 0);
  assert.ok(result.acknowledged >= 120);
  t.diagnostic(`${result.acknowledged} acknowledged, ${result.receipts} received`);
});
