import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { sql, type Sql } from '../../sql/sql.ts';
import { QueryTimeout } from '../engine-errors.ts';
import { OverBudget } from './deadline.ts';
import { openSqlite } from './sqlite-database.ts';
import { WriteSearches } from './write-searches.ts';

const timeoutMs = 1_000;
/** As all refusals that pass by themselves. */
const refused = { code: 'unavailable', message: 'The query took too long.', retryAfter: 1 };

interface Stage {
  /** Runs a search that needs so long. Returns how long it ran; throws when it was ended before. */
  readonly search: (text: string, needMs: number) => number;
  /** As `search`; returns how long a search ran that was ended. */
  readonly refuse: (text: string, needMs: number) => number;
  readonly wait: (ms: number) => void;
}

/** Searches by a simulated clock, which goes on while they run. One that is ended goes on for `lateMs` before it looks at the clock. */
function setUp(lateMs = 0.125): Stage {
  let nowMs = 5_000;
  const searches = new WriteSearches(timeoutMs, { now: () => nowMs, monotonic: () => nowMs });
  const search: Stage['search'] = (text, needMs) =>
    searches.run(text, (budgetMs) => {
      const isOver = needMs <= budgetMs;
      nowMs += isOver ? needMs : budgetMs + lateMs;
      if (!isOver) throw new OverBudget();
      return needMs;
    });
  const refuse: Stage['refuse'] = (text, needMs) => {
    const startMs = nowMs;
    assert.throws(() => search(text, needMs), refused);
    return nowMs - startMs;
  };
  return { search, refuse, wait: (ms) => (nowMs += ms) };
}

test('slow searches in writes take a query timeout together, and then a tenth of the time that passes', () => {
  for (const lateMs of [0.125, 5, 200]) {
    const { refuse, wait } = setUp(lateMs);
    assert.equal(refuse('endless 0', 1e9), timeoutMs + lateMs);
    let ranMs = 0;
    const endMs = 100_000;
    for (let atMs = 0; atMs < endMs; atMs += 5) {
      ranMs += refuse(`endless ${atMs % 3}`, 1e9);
      wait(5);
    }
    // What is late is paid for afterwards.
    assert.ok(ranMs <= (timeoutMs + endMs + ranMs) / 10 + 3 * lateMs, `${lateMs} ms late: ${ranMs} ms`);
  }
});

test('a search that needs more than is left is ended after a millisecond, and not even begun while that was too much', () => {
  const { refuse } = setUp();
  refuse('endless', 1e9);
  const took = Array.from({ length: 200 }, () => refuse('endless', 1e9));
  assert.equal(took[0], 1.125);
  assert.equal(took.at(-1), 0);
  assert.equal(refuse('another', 1e9), 1.125);
});

test('quick searches are neither refused nor counted, whatever others use up', () => {
  const { search, refuse, wait } = setUp();
  for (let asked = 0; asked < 10_000; asked += 1) search('quick', 1);
  assert.equal(refuse('endless', 1e9), timeoutMs + 0.125);
  for (let asked = 0; asked < 100; asked += 1) {
    refuse('endless', 1e9);
    assert.equal(search('quick', 0.9), 0.9);
    // Of the same rule as the slow one, with other values.
    wait(20);
    assert.equal(search('endless', 0.5), 0.5);
  }
});

test('a quick search that was delayed once does not count as slow', () => {
  const { search, refuse } = setUp();
  assert.equal(search('quick', 8), 8);
  // Until not even that is begun any more.
  while (refuse('endless', 1e9) > 0);
  for (let asked = 0; asked < 10; asked += 1) assert.equal(search('quick', 0.1), 0.1);
});

test('a slow search is run again as soon as the budget has recovered', () => {
  const { search, refuse, wait } = setUp();
  for (let asked = 0; asked < 3; asked += 1) search('slow', 300);
  // The rest of the budget, in vain.
  assert.equal(Math.round(refuse('other', 1e9)), 190);
  for (let second = 0; second < 3; second += 1) {
    wait(900);
    refuse('slow', 300);
  }
  wait(400);
  assert.equal(search('slow', 300), 300);
});

test('a search of unknown length gets more time with each run, up to the query timeout', () => {
  const { search, refuse, wait } = setUp();
  refuse('endless', 1e9);
  wait(500);
  let tries = 0;
  for (; tries < 1_000; tries += 1) {
    try {
      search('slow', 700);
      break;
    } catch (error) {
      assert.ok(error instanceof QueryTimeout);
      wait(1_000);
    }
  }
  assert.ok(tries < 40, `${tries} tries`);
});

/** Goes on by a tenth of a millisecond whenever it is read: what looks at more rows takes longer. */
class TickingClock {
  ms = 0;

  now(): number {
    return this.monotonic();
  }

  monotonic(): number {
    this.ms += 0.1;
    return this.ms;
  }
}

test('A15 searches in writes of one file share a budget, and exempt ones take nothing from it', async (t) => {
  const clock = new TickingClock();
  const path = join(temporaryFolder(t), 'data.db');
  const database = openSqlite({ path, queryTimeoutMs: timeoutMs, clock });
  const other = openSqlite({ path: `${path}2`, queryTimeoutMs: timeoutMs, clock });
  t.after(() => Promise.all([database.stop(), other.stop()]));
  const count = (rows: number): Sql => sql`
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rows} AND "$in_time"(n)) SELECT count(*) FROM n`;
  const refuse = async (): Promise<number> => {
    const startMs = clock.ms;
    await assert.rejects(
      database.write((tx) => tx.search(count(1e9))),
      refused,
    );
    return clock.ms - startMs;
  };
  assert.ok((await refuse()) >= timeoutMs);
  for (let tries = 0; tries < 20; tries += 1) assert.ok((await refuse()) < 10);
  assert.deepEqual(await database.write((tx) => tx.search(count(3))), [[3]]);
  assert.deepEqual(await other.write((tx) => tx.search(count(100))), [[100]]);
  assert.deepEqual(await database.write((tx) => tx.search(count(5_000), { isExempt: true })), [[5_000]]);
});
