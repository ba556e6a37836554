import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { Client } from 'pg';
import { eventually } from '../../test/support/eventually.ts';
import { openPostgresDatabase } from '../../test/support/postgres-database.ts';
import { ask } from '../../test/support/postgres.ts';
import type { Database } from '../storage/database.ts';
import { readLogState, LogHorizon } from './log-horizon.ts';

const seed = 20_261_125;

test('a position is safe when all transactions are over that had begun when it was the last one', () => {
  const safe = new LogHorizon();
  assert.equal(safe.needsId, false);
  safe.note({ last: 7, xmin: 100n, xid: undefined });
  assert.equal(safe.needsId, true);
  // The position of this state may have been drawn after its id: what counts is the one before.
  safe.note({ last: 9, xmin: 100n, xid: 103n });
  assert.equal(safe.needsId, false);
  safe.note({ last: 9, xmin: 103n, xid: undefined });
  assert.equal(safe.value, 0);
  safe.note({ last: 9, xmin: 104n, xid: undefined });
  assert.equal(safe.value, 7);
  safe.note({ last: 9, xmin: 104n, xid: 104n });
  safe.note({ last: 9, xmin: 105n, xid: undefined });
  assert.equal(safe.value, 9);
  assert.equal(safe.needsId, false);
});

test('while one transaction is open for long, the position stays where it was, and then goes on', () => {
  const safe = new LogHorizon();
  safe.note({ last: 5, xmin: 100n, xid: undefined });
  let xid = 100n;
  for (let last = 6; last < 1_000; last += 1)
    safe.note({ last, xmin: 100n, xid: safe.needsId ? (xid += 1n) : undefined });
  assert.equal(safe.value, 0);
  safe.note({ last: 1_000, xmin: 2_000n, xid: undefined });
  assert.equal(safe.value, 5);
  safe.note({ last: 1_000, xmin: 2_000n, xid: 2_001n });
  safe.note({ last: 1_000, xmin: 2_002n, xid: undefined });
  assert.equal(safe.value, 1_000);
});

test('no history of transactions lets the safe position pass one that is not visible yet', (t) => {
  t.diagnostic(`seed ${seed}`);
  let moves = 0;
  const history = fc.array(fc.tuple(fc.constantFrom(...actions), fc.nat(7)), {
    minLength: 60,
    maxLength: 120,
  });
  fc.assert(
    fc.property(history, (steps) => {
      const log = new SimulatedLog();
      for (const [action, which] of steps) {
        log.do(action, which);
        assert.ok(
          log.safe.value < log.firstHidden,
          `${log.safe.value} is safe, ${log.firstHidden} is hidden`,
        );
      }
      moves += log.safe.value > 0 ? 1 : 0;
    }),
    { numRuns: 5_000, seed },
  );
  // It would also hold if nothing were ever safe.
  assert.ok(moves > 1_000, `${moves} histories have moved the position`);
});

/** As many transactions end as begin, whether they commit or roll back: some of those that are meant to end have ended already. */
const actions = ['begin', 'draw', 'draw', 'end', 'end', 'read half', 'read', 'read', 'read'] as const;

/** Transactions that draw positions and end in any order, and a node that reads the state of the log meanwhile. */
class SimulatedLog {
  readonly safe = new LogHorizon();
  #last = 0;
  #nextId = 100n;
  /** Open transactions, and the positions that they have drawn. */
  readonly #open = new Map<bigint, number[]>();
  /** The part of a state that was read before its position: a statement's snapshot and id are older. */
  #half: { readonly xmin: bigint; readonly xid: bigint | undefined } | undefined;

  get firstHidden(): number {
    return Math.min(...[...this.#open.values()].flat(), Number.POSITIVE_INFINITY);
  }

  do(action: (typeof actions)[number], which: number): void {
    const ids = [...this.#open.keys()];
    const id = ids[which % ids.length];
    if (action === 'begin') this.#open.set(this.#nextId++, []);
    else if (action === 'read half') this.#half ??= this.#readIds();
    else if (action === 'read') {
      this.safe.note({ ...(this.#half ?? this.#readIds()), last: this.#last });
      this.#half = undefined;
    } else if (id !== undefined) {
      if (action === 'draw') this.#open.get(id)?.push((this.#last += 1));
      else this.#open.delete(id);
    }
  }

  #readIds(): { readonly xmin: bigint; readonly xid: bigint | undefined } {
    const [xmin = this.#nextId] = this.#open.keys();
    return { xmin, xid: this.safe.needsId ? this.#nextId++ : undefined };
  }
}

test('on PostgreSQL the position stays before a transaction that is open, whether or not later ones are over', async (t) => {
  const { database, url } = await openLog(t);
  const safe = new LogHorizon();
  await ask(url, insert);
  await untilSafe(database, safe, 1);
  const open = await connect(t, url);
  await open.query('BEGIN');
  await open.query(insert);
  // At first no later transaction is over; the snapshot then ends at the open one.
  await lookThrice(database, safe);
  assert.equal(safe.value, 1);
  await ask(url, insert);
  await lookThrice(database, safe);
  assert.equal(safe.value, 1);
  await open.query('COMMIT');
  await untilSafe(database, safe, 3);
});

test('on PostgreSQL looks at a log in which nothing happens draw no ids', async (t) => {
  const { database, url } = await openLog(t);
  const safe = new LogHorizon();
  await ask(url, insert);
  await untilSafe(database, safe, 1);
  for (let count = 0; count < 5; count += 1) {
    const state = await readLogState(database, safe);
    assert.equal(state.xid, undefined);
    safe.note(state);
  }
});

const insert = `INSERT INTO chancery.event DEFAULT VALUES`;

async function openLog(t: TestContext): Promise<{ readonly database: Database; readonly url: string }> {
  const { database, url } = await openPostgresDatabase(t);
  await ask(url, 'CREATE TABLE chancery.event (position bigint GENERATED ALWAYS AS IDENTITY, record text)');
  return { database, url };
}

async function connect(t: TestContext, url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  t.after(() => client.end());
  return client;
}

/** Transactions of other tests on the server hold the position back as well. */
async function untilSafe(database: Database, safe: LogHorizon, position: number): Promise<void> {
  await eventually(`${position} is safe`, async () => {
    await lookThrice(database, safe);
    assert.ok(safe.value <= position);
    return safe.value === position;
  });
}

async function lookThrice(database: Database, safe: LogHorizon): Promise<void> {
  for (let count = 0; count < 3; count += 1) safe.note(await readLogState(database, safe));
}
