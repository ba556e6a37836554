import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LongTurn, longTurnMs, TurnMeter } from './turn-meter.ts';

/** Takes so much of the processor. */
function work(ms: number): void {
  const before = process.threadCpuUsage();
  for (;;) {
    const { user, system } = process.threadCpuUsage(before);
    if (user + system >= ms * 1_000) return;
  }
}

/** Resolves once the turn that it is called in is over. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

test('a long turn is reported once, with the instance that most of it was for and its last route', async () => {
  const turns: LongTurn[] = [];
  const meter = new TurnMeter((one) => turns.push(one));
  meter.note('a', 'listRecords');
  work(5);
  meter.note('b', 'listRecords');
  work(longTurnMs);
  meter.note('b', 'createRecord');
  work(20);
  meter.note('a');
  work(5);
  await turn();
  assert.equal(turns.length, 1);
  assert.equal(meter.longTurns, 1);
  const [{ instance, route, ms, instanceMs } = assert.fail()] = turns;
  assert.deepEqual([instance, route], ['b', 'createRecord']);
  assert.ok(ms >= longTurnMs + 30, `${ms} ms`);
  assert.ok(instanceMs > ms / 2 && instanceMs < ms, `${instanceMs} of ${ms} ms`);
});

test('what several turns take together is not one long turn, nor is a wait', async () => {
  const turns: LongTurn[] = [];
  const meter = new TurnMeter((one) => turns.push(one));
  for (let round = 0; round < 20; round += 1) {
    meter.note('a', 'listRecords');
    work(longTurnMs / 10);
    await turn();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.deepEqual(turns, []);
});
