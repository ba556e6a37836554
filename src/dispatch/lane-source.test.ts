import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { describeEngines } from '../../test/support/engines.ts';
import { insertDeliveries, insertOutcomes, openLogDatabase, range } from '../../test/support/log-rows.ts';
import type { Database } from '../storage/database.ts';
import { LaneSource } from './lane-source.ts';
import { sweepEveryMs } from './log-cursor.ts';
import type { Look } from './read-due.ts';

const start = 1_000_000;
/** A higher number than others have, so that it is the last one of each event. */
const endpoint = 1_000;
/** Where writers wait for each other. */
const allSafe = Number.MAX_SAFE_INTEGER;

interface Stage {
  readonly database: Database;
  readonly source: LaneSource;
  /** Reads once. */
  readonly read: (look?: Partial<Look>) => Promise<void>;
  /** Reads for as long as there may be more, takes everything and releases it as delivered. */
  readonly drain: (look?: Partial<Look>) => Promise<readonly number[]>;
}

/** Far more reads than any drain below needs. */
const readsMax = 200;

function stageOf(database: Database, source = new LaneSource(0, database.names)): Stage {
  const read = async (look: Partial<Look> = {}): Promise<void> => {
    await source.read(database, { endpoint, now: start, safe: allSafe, ...look });
  };
  const drain = async (look: Partial<Look> = {}): Promise<readonly number[]> => {
    const taken: number[] = [];
    source.mayHaveMore = true;
    for (let reads = 0; source.mayHaveMore; reads += 1) {
      assert.ok(reads < readsMax, `more than ${readsMax} reads`);
      await read(look);
      taken.push(...(await deliverAll(database, source)));
    }
    return taken;
  };
  return { database, source, read, drain };
}

async function deliverAll(database: Database, source: LaneSource): Promise<readonly number[]> {
  const events = takeAll(source);
  for (const event of events) source.claim(event);
  if (events.length > 0) await insertOutcomes(database, { endpoint, events });
  for (const event of events) source.release(event);
  return events;
}

function takeAll(source: LaneSource): readonly number[] {
  const taken: number[] = [];
  for (let next = source.take(true); next !== undefined; next = source.take(true)) taken.push(next.event);
  return taken;
}

describeEngines('the source of a lane', (open) => {
  const openStage = async (t: TestContext): Promise<Stage> => stageOf(await openLogDatabase(t, open));

  test('a lane reads each of its own deliveries once, in the order of the log', async (t) => {
    const { database, source, drain, read } = await openStage(t);
    await insertDeliveries(database, endpoint, range(1, 700));
    await insertDeliveries(database, 2, range(1, 900));
    assert.deepEqual(await drain(), range(1, 700));
    assert.equal(source.low, 900);
    await insertDeliveries(database, endpoint, range(901, 903));
    await read();
    assert.deepEqual(takeAll(source), range(901, 903));
    assert.equal(source.low, 900);
    await read();
    assert.deepEqual(takeAll(source), []);
  });

  test('a cursor does not skip a delivery that was dropped between its turn and its claim', async (t) => {
    const { database, source, read, drain } = await openStage(t);
    await insertDeliveries(database, endpoint, range(1, 3));
    await read();
    const taken = takeAll(source);
    assert.deepEqual(taken, range(1, 3));
    source.drop();
    for (const event of taken) source.claim(event);
    await read();
    assert.deepEqual(takeAll(source), []);
    assert.equal(source.low, 0);
    source.abort(1);
    await insertOutcomes(database, { endpoint, events: [2, 3] });
    for (const event of [2, 3]) source.release(event);
    assert.equal(source.low, 0);
    assert.deepEqual(await drain(), [1]);
    assert.equal(source.low, 3);

    await insertDeliveries(database, endpoint, [4]);
    await read();
    assert.deepEqual(takeAll(source), [4]);
    source.claim(4);
    source.drop();
    source.abort(4);
    assert.deepEqual(takeAll(source), [4], 'one that is made again need not be read again');
  });

  test('a lane skips deliveries with an outcome', async (t) => {
    const { database, drain } = await openStage(t);
    await insertDeliveries(database, endpoint, range(1, 6));
    await insertOutcomes(database, { endpoint, events: [2, 3] });
    await insertOutcomes(database, { endpoint, events: [5] }, { status: 'cancelled' });
    assert.deepEqual(await drain(), [1, 4, 6]);
  });

  test('a delivery that was put back or aborted comes before later ones', async (t) => {
    const { database, source, read } = await openStage(t);
    await insertDeliveries(database, endpoint, range(1, 4));
    await read();
    const [first, second] = [source.take(true), source.take(true)];
    assert.ok(first && second);
    source.claim(first.event);
    source.putBack(second);
    assert.equal(source.low, 0);
    source.abort(first.event);
    assert.equal(source.claimedCount, 0);
    assert.deepEqual(takeAll(source), range(1, 4));
  });

  test('dropped deliveries are read again, claimed ones only after their release', async (t) => {
    const { database, source, read } = await openStage(t);
    await insertDeliveries(database, endpoint, range(1, 5));
    await read();
    for (const event of [1, 2]) assert.deepEqual(source.take(true)?.event, event);
    for (const event of [1, 2]) source.claim(event);
    source.drop();
    assert.ok(source.isEmpty);
    assert.equal(source.low, 0);
    await read();
    assert.deepEqual(takeAll(source), [3, 4, 5]);
    source.release(1);
    assert.equal(source.low, 1);
    source.abort(2);
    assert.deepEqual(takeAll(source), [2]);
    for (const event of range(2, 5)) source.release(event);
    assert.equal(source.low, 5);
  });

  test('a restarted lane reads everything behind its cursor again', async (t) => {
    const { database, source, read } = await openStage(t);
    await insertDeliveries(database, endpoint, range(1, 5));
    await read();
    assert.deepEqual(takeAll(source), range(1, 5));
    source.claim(3);
    source.restart(2);
    assert.equal(source.low, 2);
    await read();
    assert.deepEqual(takeAll(source), [4, 5]);
    source.restart(4);
    await read();
    assert.deepEqual(takeAll(source), [5]);
  });

  test('first attempts and retries alternate, and no retry comes before its time', async (t) => {
    const { database, source, read } = await openStage(t);
    await insertDeliveries(database, endpoint, range(1, 8));
    for (const [event, due] of [
      [1, start],
      [2, start - 10],
      [3, start - 5],
      [4, start + 1],
    ] as const)
      await insertOutcomes(database, { endpoint, events: [event] }, { status: 'pending', due });
    await read();
    assert.equal(source.nextDue, start + 1);
    assert.deepEqual(source.take(false), { event: 5, isRetry: false });
    assert.deepEqual(
      range(1, 7).map(() => source.take(true)?.event),
      [2, 6, 3, 7, 1, 8, undefined],
    );
  });

  test('an event that appears before later ones is found, whatever the safe position', async (t) => {
    for (const safe of [4, 6, allSafe]) {
      const { database, source, drain } = await openStage(t);
      await insertDeliveries(database, endpoint, [1, 2, 3, 4, 6]);
      assert.deepEqual(await drain({ safe: 4 }), [1, 2, 3, 4, 6]);
      assert.equal(source.low, 4);
      await insertDeliveries(database, endpoint, [5]);
      assert.deepEqual(await drain({ safe }), [5]);
      assert.equal(source.low, Math.min(safe, 6));
    }
  });

  test('the cursor passes no position that was not safe before it was read', async (t) => {
    const { database, source, read } = await openStage(t);
    await insertDeliveries(database, endpoint, range(1, 10));
    await insertOutcomes(database, { endpoint, events: range(1, 10) });
    await read({ safe: 3 });
    assert.equal(source.low, 3);
    await read({ safe: 8 });
    assert.equal(source.low, 8);
  });

  test('new events are found at once while an older transaction is open, however many follow it', async (t) => {
    const { database, source, drain } = await openStage(t);
    await insertDeliveries(database, endpoint, range(1, 3_000));
    assert.deepEqual(await drain({ safe: 10 }), range(1, 3_000));
    for (let next = 3_001; next < 3_300; next += 100) {
      await insertDeliveries(database, endpoint, range(next, next + 99));
      assert.deepEqual(await drain({ safe: 10, now: start + 1 }), range(next, next + 99));
    }
    assert.equal(source.low, 10);
  });

  test('an event that appears far back is found by the sweep, and sent once', async (t) => {
    const late = 1_500;
    const { database, source, drain } = await openStage(t);
    await insertDeliveries(
      database,
      endpoint,
      range(1, 6_000).filter((position) => position !== late),
    );
    assert.equal((await drain({ safe: 10 })).length, 5_999);
    await insertDeliveries(database, endpoint, [late]);
    assert.deepEqual(await drain({ safe: 10, now: start + sweepEveryMs - 1 }), []);
    assert.deepEqual(await drain({ safe: 10, now: start + sweepEveryMs }), [late]);
    assert.equal(source.low, 10);
    await insertDeliveries(database, endpoint, [6_001]);
    assert.deepEqual(await drain({ safe: 10, now: start + 2 * sweepEveryMs }), [6_001]);
  });

  test('the cursor advances with the next sweep after a long transaction ends', async (t) => {
    const { database, source, drain } = await openStage(t);
    await insertDeliveries(database, endpoint, range(1, 6_000));
    await drain({ safe: 10 });
    await insertDeliveries(database, 2, range(6_001, 6_010));
    await drain({ safe: 6_010, now: start + sweepEveryMs });
    assert.equal(source.low, 6_010);
  });

  test('new events are read between the reads of a sweep', async (t) => {
    const { database, source, read } = await openStage(t);
    await insertDeliveries(database, endpoint, range(1, 14_000));
    await insertOutcomes(database, { endpoint, events: range(1, 14_000) });
    const first = stageOf(database, source);
    await first.drain({ safe: 10 });
    await insertDeliveries(database, endpoint, [14_001]);
    const look = { safe: 10, now: start + sweepEveryMs };
    await read(look);
    assert.deepEqual(takeAll(source), []);
    await read(look);
    assert.deepEqual(takeAll(source), [14_001]);
    assert.ok(source.mayHaveMore);
  });

  test('a sweep is due until the cursor has caught up', async (t) => {
    const { database, source, drain } = await openStage(t);
    await insertDeliveries(database, endpoint, range(1, 6_000));
    await drain({ safe: 10 });
    assert.equal(source.nextDue, start + sweepEveryMs);
    await drain({ safe: 6_000, now: start + sweepEveryMs });
    assert.equal(source.nextDue, undefined);
  });

  test('an event that appears behind continued reads is found after them', async (t) => {
    const { database, source, read } = await openStage(t);
    // So many that one read does not reach the end.
    await insertDeliveries(
      database,
      endpoint,
      range(1, 300).filter((event) => event !== 4),
    );
    await read({ safe: 3 });
    assert.deepEqual(takeAll(source), [1, 2, 3, ...range(5, 257)]);
    await insertDeliveries(database, endpoint, [4]);
    source.noteChange();
    const found: number[] = [];
    while (source.mayHaveMore) {
      await read({ safe: 3 });
      found.push(...takeAll(source));
    }
    assert.deepEqual(found, [...range(258, 300), 4]);
  });

  test('a log with many deliveries of other endpoints is read to its end', async (t) => {
    const { database, drain } = await openStage(t);
    await insertDeliveries(database, range(2, 6), range(1, 3_000));
    await insertDeliveries(database, endpoint, range(1, 3_000));
    assert.deepEqual(await drain({ safe: 10 }), range(1, 3_000));
    await insertDeliveries(database, endpoint, [3_001]);
    assert.deepEqual(await drain({ safe: 10, now: start + 1 }), [3_001]);
  });

  test('an event with more deliveries than one read is read completely', async (t) => {
    const { database, drain } = await openStage(t);
    await insertDeliveries(database, range(2, 800), [1]);
    await insertDeliveries(database, endpoint, [1, 2]);
    assert.deepEqual(await drain(), [1, 2]);
  });
});
