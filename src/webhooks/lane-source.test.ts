// One engine is enough: what becomes visible late, as on PostgreSQL, is inserted late.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Random } from '../../test/faults/random.ts';
import { openSqliteFile } from '../../test/support/engines.ts';
import { sql } from '../sql/sql.ts';
import type { Database, InlineColumn } from '../storage/database.ts';
import { migrate } from '../storage/migrate.ts';
import { instanceMigrations } from '../storage/migrations/instance-migrations.ts';
import { LaneSource } from './lane-source.ts';
import type { DueDelivery } from './slots.ts';

const start = 1_000_000;
const ours = 1;
const columns: readonly InlineColumn[] = [['event', 'number']];

/** A log, and the lane of one endpoint that reads it. */
class Trial {
  readonly #database: Database;
  readonly source: LaneSource;
  now = start;
  /** Where positions are in the order of the commits, all are safe. */
  safe = Number.POSITIVE_INFINITY;

  constructor(database: Database, cursor: number) {
    this.#database = database;
    this.source = new LaneSource(cursor, { leavesDeadRows: false });
  }

  /** Adds deliveries to the log. */
  async add(events: readonly number[], endpoint = ours): Promise<void> {
    const { names } = this.#database;
    const given = names.valuesTable(
      columns,
      events.map((event) => [event]),
    );
    await this.#database.write((tx) =>
      tx.run(
        sql`INSERT INTO ${names.table('$delivery')} (event, endpoint) SELECT event, ${endpoint} FROM ${given} WHERE TRUE`,
      ),
    );
  }

  /** Stores the outcome of a delivery; one with a time is pending. */
  async store(event: number, due?: number): Promise<void> {
    const status = due === undefined ? 'delivered' : 'pending';
    await this.#database.write((tx) =>
      tx.run(sql`
        INSERT OR REPLACE INTO ${tx.names.table('$outcome')} (event, endpoint, status, attempts, due, is_wide, cause, updated)
        VALUES (${event}, ${ours}, ${status}, 1, ${due ?? null}, 0, '', '')`),
    );
  }

  async #storeDelivered(events: readonly number[]): Promise<void> {
    if (events.length === 0) return;
    const { names } = this.#database;
    const given = names.valuesTable(
      columns,
      events.map((event) => [event]),
    );
    await this.#database.write((tx) =>
      tx.run(sql`
        INSERT INTO ${names.table('$outcome')} (event, endpoint, status, attempts, is_wide, cause, updated)
        SELECT event, ${ours}, 'delivered', 1, 0, '', '' FROM ${given} WHERE TRUE`),
    );
  }

  read(): Promise<void> {
    const { now, safe } = this;
    return this.source.read(this.#database, { endpoint: ours, now, safe, endpoints: 1 });
  }

  take(): DueDelivery | undefined {
    return this.source.take(true);
  }

  /** Takes all that was read ahead. */
  takeAll(): readonly number[] {
    const taken: number[] = [];
    for (let one = this.take(); one !== undefined; one = this.take()) taken.push(one.event);
    return taken;
  }

  async deliver(events: readonly number[]): Promise<void> {
    for (const event of events) this.source.claim(event);
    await this.#storeDelivered(events);
    for (const event of events) this.source.release(event);
  }

  /** Reads and delivers, as a lane with room does, until nothing more is found. Returns what was delivered. */
  async deliverAll(): Promise<readonly number[]> {
    const delivered: number[] = [];
    this.source.markChanged();
    for (let reads = 0; this.source.mayHaveMore; reads += 1) {
      assert.ok(reads < 200, `it reads on and on: ${delivered.length} were found`);
      await this.read();
      const found = this.takeAll();
      await this.deliver(found);
      delivered.push(...found);
    }
    return delivered;
  }
}

async function startTrial(t: TestContext, cursor = 0): Promise<Trial> {
  const database = await openSqliteFile(t);
  await migrate(database, instanceMigrations);
  return new Trial(database, cursor);
}

function from(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

test('a lane reads onwards from its cursor: its own deliveries without an outcome, in the order of the log', async (t) => {
  const trial = await startTrial(t, 3);
  await trial.add(from(1, 8));
  await trial.add([4, 5], 2);
  await trial.store(6);
  await trial.read();
  assert.deepEqual(trial.takeAll(), [4, 5, 7, 8]);
  assert.equal(trial.source.mayHaveMore, false);
  await trial.add([9], 2);
  await trial.add([10]);
  await trial.read();
  assert.deepEqual(trial.takeAll(), [10], 'what was read is not read again');
});

test('a log that is longer than a read is read to its end, each delivery once', async (t) => {
  const trial = await startTrial(t);
  await trial.add(from(1, 1_000));
  assert.deepEqual(await trial.deliverAll(), from(1, 1_000));
  assert.equal(trial.source.low, 1_000);
});

test('what is given back is taken next, and what was aborted as well', async (t) => {
  const trial = await startTrial(t);
  const { source } = trial;
  await trial.add([1, 2, 3]);
  await trial.read();
  const first = trial.take();
  assert.deepEqual(first, { event: 1, isRetry: false });
  source.putBack(first);
  assert.deepEqual(trial.take(), first);
  source.claim(1);
  assert.equal(source.claimedCount, 1);
  source.abort(1);
  assert.equal(source.isClaimed(1), false);
  assert.deepEqual(trial.takeAll(), [1, 2, 3]);
});

test('what was released is not given back', async (t) => {
  const trial = await startTrial(t);
  const { source } = trial;
  await trial.add([1, 2]);
  await trial.read();
  const first = trial.take();
  assert.ok(first);
  source.release(1);
  source.putBack(first);
  source.abort(1);
  assert.deepEqual(trial.takeAll(), [2]);
});

test('a retry that is given back is found by the next read', async (t) => {
  const trial = await startTrial(t);
  await trial.store(1, start);
  await trial.read();
  const retry = trial.take();
  assert.deepEqual(retry, { event: 1, isRetry: true });
  assert.equal(trial.source.mayHaveMore, false);
  trial.source.putBack(retry);
  assert.equal(trial.source.mayHaveMore, true);
  await trial.read();
  assert.deepEqual(trial.take(), retry);
});

test('deliveries are due again at their time, and the source knows when', async (t) => {
  const trial = await startTrial(t, 9);
  await trial.store(4, start + 5_000);
  await trial.store(2, start + 7_000);
  await trial.read();
  assert.ok(trial.source.isEmpty);
  assert.equal(trial.source.nextDue, start + 5_000);
  trial.now = start + 7_000;
  await trial.read();
  assert.deepEqual(trial.takeAll(), [4, 2], 'the longest due first');
  assert.equal(trial.source.nextDue, undefined);
});

test('retries and first attempts are taken in turns, and no retry where there is no room for one', async (t) => {
  const trial = await startTrial(t, 10);
  for (const event of [1, 2, 3]) await trial.store(event, start + event);
  await trial.add(from(11, 15));
  trial.now = start + 10;
  await trial.read();
  assert.equal(trial.source.take(false)?.event, 11);
  const taken = trial.takeAll();
  assert.deepEqual(taken, [1, 12, 2, 13, 3, 14, 15]);
});

test('the low position stays below all that has no stored outcome', async (t) => {
  const trial = await startTrial(t);
  const { source } = trial;
  await trial.add([5, 6, 7]);
  assert.equal(source.low, 0);
  await trial.read();
  assert.equal(source.low, 4);
  trial.takeAll();
  source.claim(5);
  source.claim(6);
  await trial.store(6);
  source.release(6);
  assert.equal(source.low, 4);
  await trial.store(5);
  source.release(5);
  assert.equal(source.low, 6);
  source.release(7);
  assert.equal(source.low, 7);
});

test('what is dropped is read again once, without what is claimed', async (t) => {
  const trial = await startTrial(t);
  const { source } = trial;
  await trial.add(from(1, 6));
  await trial.read();
  await trial.deliver([trial.take()?.event ?? 0]);
  source.claim(trial.take()?.event ?? 0);
  trial.take();
  source.drop();
  assert.ok(source.isEmpty);
  assert.equal(source.low, 1);
  await trial.read();
  assert.deepEqual(trial.takeAll(), [3, 4, 5, 6]);
  source.abort(2);
  assert.deepEqual(trial.takeAll(), [2]);
});

test('a lane that begins again at its stored cursor reads what has no outcome, once', async (t) => {
  const trial = await startTrial(t);
  await trial.add(from(1, 600));
  await trial.read();
  await trial.deliver(trial.takeAll().slice(0, 100));
  trial.source.restart(50);
  assert.equal(trial.source.low, 50);
  assert.deepEqual(await trial.deliverAll(), from(101, 600));
  trial.source.restart(0);
  assert.deepEqual(await trial.deliverAll(), []);
});

test('a delivery that appears behind later ones is found, as long as one may', async (t) => {
  const trial = await startTrial(t);
  trial.safe = 4;
  await trial.add([1, 2, 3, 4, 6, 7]);
  assert.deepEqual(await trial.deliverAll(), [1, 2, 3, 4, 6, 7]);
  await trial.add([5]);
  assert.deepEqual(await trial.deliverAll(), [5]);
});

test('a delivery that has appeared behind later ones is found after none can appear any more', async (t) => {
  const trial = await startTrial(t);
  trial.safe = 4;
  await trial.add([1, 2, 3, 4, 6, 7]);
  await trial.deliverAll();
  await trial.add([5]);
  trial.safe = 7;
  assert.deepEqual(await trial.deliverAll(), [5]);
  assert.equal(trial.source.low, 7);
});

test('while the safe position does not move, all that is added is read', async (t) => {
  const trial = await startTrial(t);
  trial.safe = 0;
  await trial.add(from(1, 1_000));
  assert.deepEqual((await trial.deliverAll()).length, 1_000);
  await trial.add(from(1_001, 1_900));
  assert.deepEqual((await trial.deliverAll()).length, 900);
});

test('far behind, a delivery that appears is found five seconds after the last sweep', async (t) => {
  const trial = await startTrial(t);
  trial.safe = 10;
  await trial.add(from(1, 10));
  await trial.add(from(9_000, 9_010));
  await trial.deliverAll();
  assert.deepEqual(await trial.deliverAll(), [], 'the first sweep');
  await trial.add([100]);
  trial.now = start + 4_999;
  assert.deepEqual(await trial.deliverAll(), []);
  assert.equal(trial.source.low, 10);
  trial.now = start + 5_000;
  assert.deepEqual(await trial.deliverAll(), [100]);
});

test('far behind, a sweep goes on where the last one has ended', async (t) => {
  const trial = await startTrial(t);
  trial.safe = 0;
  await trial.add([...from(100, 640), ...from(660, 700), ...from(9_000, 9_010)]);
  await trial.deliverAll();
  await trial.add([50, 650]);
  const found: number[] = [];
  for (let sweep = 0; sweep < 4; sweep += 1) {
    found.push(...(await trial.deliverAll()));
    trial.now += 5_000;
  }
  assert.deepEqual(found, [50, 650]);
});

test('far behind, what has appeared is found at once when no more can appear', async (t) => {
  const trial = await startTrial(t);
  trial.safe = 0;
  await trial.add(from(100, 6_000));
  await trial.deliverAll();
  await trial.deliverAll();
  await trial.add([50, 60]);
  trial.safe = 6_000;
  assert.deepEqual(await trial.deliverAll(), [50, 60]);
  assert.equal(trial.source.low, 6_000);
});

test('the low position does not pass what may still appear', async (t) => {
  const trial = await startTrial(t);
  trial.safe = 4;
  await trial.add([1, 2, 3, 6]);
  await trial.deliverAll();
  assert.equal(trial.source.low, 4);
  trial.safe = 6;
  assert.equal(trial.source.low, 4, 'it was not read since');
  await trial.deliverAll();
  assert.equal(trial.source.low, 6);
});

test('whatever commits when, each delivery is found once, the low position leaves none behind, and all are found in the end', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const random = new Random(seed);
  for (let history = 0; history < 6; history += 1) {
    const trial = await startTrial(t);
    trial.safe = 0;
    const hidden = new Set<number>();
    const found: number[] = [];
    const visible: number[] = [];
    let last = 0;
    const appear = async (events: readonly number[]): Promise<void> => {
      for (const event of events) hidden.delete(event);
      visible.push(...events);
      if (events.length > 0) await trial.add(events);
    };
    for (let step = 0; step < 60; step += 1) {
      const drawn = from(last + 1, (last += random.integer(1, random.unit() < 0.1 ? 3_000 : 200)));
      const late = new Set(drawn.filter(() => random.unit() < 0.01));
      for (const event of late) hidden.add(event);
      await appear(drawn.filter((event) => !late.has(event)));
      await appear([...hidden].filter(() => random.unit() < 0.1));
      if (random.unit() < 0.3) trial.safe = Math.min(last, ...hidden.values().map((event) => event - 1));
      if (random.unit() < 0.1) trial.source.drop();
      if (random.unit() < 0.1) trial.source.restart(trial.source.low);
      trial.now += random.integer(0, 2_000);
      if (random.unit() < 0.6) found.push(...(await trial.deliverAll()));
      const done = new Set(found);
      const { low } = trial.source;
      const left = [...visible, ...hidden].filter((event) => event <= low && !done.has(event));
      assert.deepEqual(left, [], `seed ${seed}, history ${history}, step ${step}: low ${low}`);
    }
    await appear([...hidden]);
    trial.safe = last;
    found.push(...(await trial.deliverAll()));
    const sorted = found.toSorted((a, b) => a - b);
    assert.deepEqual(sorted, from(1, last), `seed ${seed}, history ${history}`);
    assert.equal(trial.source.low, last, `seed ${seed}, history ${history}`);
  }
});
