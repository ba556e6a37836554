import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import type { Database, BulkInsert, Reader, Transaction } from '../../src/storage/database.ts';
import { UniqueViolation } from '../../src/storage/engine-errors.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { instanceMigrations } from '../../src/storage/migrations/instance-migrations.ts';
import { postgresMigrations } from '../../src/storage/migrations/postgres-migrations.ts';
import { describeEngines } from '../support/engines.ts';

class Refused extends Error {}

describeEngines('rows that works give to be inserted at once', (open, engine) => {
  async function openMigrated(t: TestContext): Promise<Database> {
    const database = await open(t);
    await migrate(database, engine === 'sqlite' ? instanceMigrations : postgresMigrations);
    return database;
  }

  test('they are there once their works are, in the order in which they were given', async (t) => {
    const database = await openMigrated(t);
    const { gathering, batches } = gatheringOf();
    const works = Array.from({ length: 200 }, (_, index) => `row ${String(index).padStart(3, '0')}`);
    await Promise.all(works.map((id) => share(database, (tx) => tx.insertLater(gathering, id))));
    assert.deepEqual(await idsOf(database), works);
    // Groups of PostgreSQL are beside each other.
    assert.deepEqual(engine === 'sqlite' ? batches : batches.toSorted(descending), [64, 64, 64, 8]);
  });

  test('large ones wait for few others', async (t) => {
    const database = await openMigrated(t);
    const { gathering, batches } = gatheringOf(600 * 1024);
    await Promise.all(['a', 'b', 'c'].map((id) => share(database, (tx) => tx.insertLater(gathering, id))));
    assert.deepEqual(await idsOf(database), ['a', 'b', 'c']);
    // On PostgreSQL what waits is never more than what the works of one group have asked for.
    assert.deepEqual(batches, engine === 'sqlite' ? [2, 1] : [3]);
  });

  test('a statement that names their table finds them, those of works before it as well', async (t) => {
    const database = await openMigrated(t);
    const { gathering } = gatheringOf();
    const first = database.write((tx) => tx.insertLater(gathering, 'a'));
    const found = database.write(async (tx) => {
      await tx.insertLater(gathering, 'b');
      return [await idsOf(tx), await changeAll(tx)] as const;
    });
    await first;
    const [ids, changed] = await found;
    assert.ok(ids.includes('b') && (engine === 'postgres' || ids.includes('a')), ids.join());
    // Between the two the other work may have been committed.
    assert.ok(changed === ids.length || (engine === 'postgres' && changed === 2), `${changed}`);
  });

  test('a work that fails takes its own with it, and those of its neighbours stay', async (t) => {
    const database = await openMigrated(t);
    const { gathering } = gatheringOf();
    // Twice: an engine may guard the groups that follow a failure in another way than the first.
    for (const round of ['x', 'y']) {
      const results = await Promise.allSettled([
        share(database, (tx) => tx.insertLater(gathering, `${round}1`)),
        share(database, async (tx) => {
          await tx.insertLater(gathering, `${round}2`);
          throw new Refused();
        }),
        share(database, (tx) => tx.insertLater(gathering, `${round}3`)),
      ]);
      assert.deepEqual(statusesOf(results), ['fulfilled', 'rejected', 'fulfilled']);
    }
    assert.deepEqual(await idsOf(database), ['x1', 'x3', 'y1', 'y3']);
  });

  test('one that is refused costs its own work everything and its neighbours nothing', async (t) => {
    const database = await openMigrated(t);
    const { gathering } = gatheringOf();
    await share(database, (tx) => tx.insertLater(gathering, 'a'));
    const works = ['b', 'a', 'c'].map((id) =>
      share(database, async (tx) => {
        await tx.insertLater(gathering, `beside ${id}`);
        await tx.insertLater(gathering, id);
      }),
    );
    const results = await Promise.allSettled(works);
    assert.deepEqual(statusesOf(results), ['fulfilled', 'rejected', 'fulfilled']);
    assert.ok(results[1]?.status === 'rejected' && results[1].reason instanceof UniqueViolation);
    assert.deepEqual(await idsOf(database), ['a', 'b', 'beside b', 'beside c', 'c']);
  });

  test('a work that asks for their table pays for none that is refused to another', async (t) => {
    const database = await openMigrated(t);
    const { gathering } = gatheringOf();
    await share(database, (tx) => tx.insertLater(gathering, 'a'));
    const results = await Promise.allSettled([
      share(database, (tx) => tx.insertLater(gathering, 'a')),
      share(database, (tx) => tx.insertLater(gathering, 'b')),
      share(database, (tx) => idsOf(tx)),
    ]);
    assert.deepEqual(statusesOf(results), ['rejected', 'fulfilled', 'fulfilled']);
    assert.deepEqual(await idsOf(database), ['a', 'b']);
  });

  test('a transaction that is over takes none', async (t) => {
    const database = await openMigrated(t);
    const { gathering } = gatheringOf();
    const ended = await database.write(async (tx) => ({ tx }));
    await assert.rejects(ended.tx.insertLater(gathering, 'a'), /after it had ended/);
    assert.deepEqual(await idsOf(database), []);
  });

  test('a work that goes on after they were refused is not kept without them', async (t) => {
    const database = await openMigrated(t);
    const { gathering } = gatheringOf();
    await share(database, (tx) => tx.insertLater(gathering, 'a'));
    const results = await Promise.allSettled([
      share(database, (tx) => tx.insertLater(gathering, 'b')),
      share(database, async (tx) => {
        await tx.insertLater(gathering, 'a').catch(() => undefined);
        await idsOf(tx).catch(() => undefined);
      }),
      share(database, (tx) => tx.insertLater(gathering, 'c')),
    ]);
    const [first, , last] = statusesOf(results);
    assert.deepEqual([first, last], ['fulfilled', 'fulfilled']);
    assert.deepEqual(await idsOf(database), ['a', 'b', 'c']);
    // PostgreSQL tells a work at once, and lets it go on without them.
    if (engine === 'sqlite') assert.equal(results[1]?.status, 'rejected');
  });

  test('whoever goes on after a neighbour kept its own from being written has them', async (t) => {
    const database = await openMigrated(t);
    const { gathering } = gatheringOf();
    // By no statement: the transaction itself would be well.
    const picky: BulkInsert<string> = {
      ...gathering,
      write: async (tx, ids) => {
        if (ids.includes('bad')) throw new Refused();
        await gathering.write(tx, ids);
      },
    };
    await Promise.allSettled(
      ['good', 'bad'].map((id) =>
        share(database, (tx) => tx.insertLater(picky, id).catch((error: unknown) => error)),
      ),
    );
    assert.deepEqual(await idsOf(database), ['good']);
  });

  test('those of a work that gives many are there in their order', async (t) => {
    const database = await openMigrated(t);
    const { gathering, batches } = gatheringOf();
    const works = Array.from({ length: 130 }, (_, index) => `row ${String(index).padStart(3, '0')}`);
    await database.write(async (tx) => {
      // Each in a turn of its own.
      for (const id of works) {
        await tx.insertLater(gathering, id);
        await tx.get(sql`SELECT 1`);
      }
    });
    assert.deepEqual(await idsOf(database), works);
    if (engine === 'sqlite') assert.deepEqual(batches, [64, 64, 2]);
  });

  // Written as nobody writes it: its text does not have the table's name as the names have it.
  const countUnnoticed =
    engine === 'sqlite'
      ? sql`SELECT count(*) FROM [$idempotency]`
      : sql`SELECT count(*) FROM chancery . idempotency`;

  test('a work that gives many finds them where it asks for them, and what it asks for behind that comes behind it', async (t) => {
    const database = await openMigrated(t);
    const { gathering } = gatheringOf();
    const found = await database.write(async (tx) => {
      await tx.insertLater(gathering, 'a');
      await tx.insertLater(gathering, 'b');
      const answers: { ids?: readonly string[]; changed?: number; seen?: number } = {};
      await tx.inOrder([
        async () => (answers.ids = await idsOf(tx)),
        async () => (answers.seen = Number((await tx.tuples(countUnnoticed))[0]?.[0])),
        async () => (answers.changed = await changeAll(tx)),
        () => tx.insertLater(gathering, 'c'),
      ]);
      return answers;
    });
    assert.deepEqual(found, { ids: ['a', 'b'], seen: 2, changed: 2 });
    assert.deepEqual(await idsOf(database), ['a', 'b', 'c']);
  });

  test('a work that gives many is not kept without those that were refused, whatever it makes of that', async (t) => {
    const database = await openMigrated(t);
    const { gathering } = gatheringOf();
    await share(database, (tx) => tx.insertLater(gathering, 'a'));
    const atTheEnd = database.write(async (tx) => {
      await insert(tx, 'beside');
      await tx.insertLater(gathering, 'a');
    });
    await assert.rejects(atTheEnd, UniqueViolation);
    const picky: BulkInsert<string> = { ...gathering, write: () => Promise.reject(new Refused()) };
    const swallowed = database.write(async (tx) => {
      await tx.insertLater(picky, 'b');
      await idsOf(tx).catch(() => undefined);
    });
    await assert.rejects(swallowed, Refused);
    assert.deepEqual(await idsOf(database), ['a']);
  });

  test('a work that gave many gives none when it is over', async (t) => {
    const database = await openMigrated(t);
    const { gathering } = gatheringOf();
    const ended = await database.write(async (tx) => ({ tx }));
    await assert.rejects(ended.tx.insertLater(gathering, 'a'), /after it had ended/);
    let failed: Transaction | undefined;
    const failing = database.write(async (tx) => {
      failed = tx;
      await tx.get(sql`SELECT 1`);
      throw new Refused();
    });
    await assert.rejects(failing, Refused);
    await assert.rejects(async () => failed?.insertLater(gathering, 'a'), /after it had ended/);
    assert.deepEqual(await idsOf(database), []);
  });
});

interface Noted {
  /** Of ids. */
  readonly gathering: BulkInsert<string>;
  /** How many were written at once each time. */
  readonly batches: readonly number[];
}

function gatheringOf(bytes = 1): Noted {
  const batches: number[] = [];
  const write = async (tx: Transaction, ids: readonly string[]): Promise<void> => {
    batches.push(ids.length);
    for (const id of ids) await insert(tx, id);
  };
  return { gathering: { tables: ['$idempotency'], bytesOf: () => bytes, write }, batches };
}

/** With others, where works have to say that they may. */
function share<Result>(database: Database, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
  return database.write(work, { isAppending: true });
}

function insert(tx: Transaction, id: string): Promise<number> {
  const { names } = tx;
  return tx.run(sql`
    INSERT INTO ${names.table('$idempotency')} (${names.instance.column}id, content, expires, status, headers)
    VALUES (${names.instance.value}${id}, '', 0, 200, '')`);
}

function changeAll(tx: Transaction): Promise<number> {
  return tx.run(
    sql`UPDATE ${tx.names.table('$idempotency')} SET status = 201 WHERE ${tx.names.instance.condition}`,
  );
}

async function idsOf(reader: Reader): Promise<readonly string[]> {
  const { names } = reader;
  const rows = await reader.tuples(
    sql`SELECT id FROM ${names.table('$idempotency')} WHERE ${names.instance.condition} ORDER BY id`,
  );
  return rows.map(([id]) => String(id));
}

function descending(one: number, other: number): number {
  return other - one;
}

function statusesOf(results: readonly PromiseSettledResult<unknown>[]): readonly string[] {
  return results.map(({ status }) => status);
}
