// On SQLite: what becomes visible late on PostgreSQL is inserted late.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Random } from '../../test/faults/random.ts';
import { openSqliteFile } from '../../test/support/engines.ts';
import { sql } from '../sql/sql.ts';
import type { Database, InlineColumn } from '../storage/database.ts';
import { migrate } from '../storage/migrate.ts';
import { instanceMigrations } from '../storage/migrations/instance-migrations.ts';
import { LaneSource } from './lane-source.ts';
import { sweepEveryMs } from './log-cursor.ts';
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

  read(): Promise<number> {
    const { now, safe } = this;
    return this.source.read(this.#database, { endpoint: ours, now, safe });
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
    this.source.noteChange();
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

test('in any order of commits, a lane finds each delivery once and its cursor skips none', async (t) => {
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
    // What lies far behind is swept for at its time. The low position follows by a later look if the last one read on from elsewhere.
    for (let look = 0; look < 3; look += 1) {
      trial.now += sweepEveryMs;
      found.push(...(await trial.deliverAll()));
      if (look === 0) assert.equal(found.length, last, `seed ${seed}, history ${history}`);
    }
    const sorted = found.toSorted((a, b) => a - b);
    assert.deepEqual(sorted, from(1, last), `seed ${seed}, history ${history}`);
    assert.equal(trial.source.low, last, `seed ${seed}, history ${history}`);
  }
});
