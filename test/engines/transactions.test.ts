import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { AppError } from '../../src/base/errors.ts';
import { sql, type Sql } from '../../src/sql/sql.ts';
import type { Database, PlainTuple, Reader, Transaction } from '../../src/storage/database.ts';
import { UniqueViolation } from '../../src/storage/engine-errors.ts';
import { describeEngines, type OpenDatabase } from '../support/engines.ts';

// The promises of src/storage/database.ts. Works asked for without an await between them share one turn, and on SQLite one commit.

class Refused extends Error {}

describeEngines('one work among others', (open, engine) => {
  test('a work that throws leaves nothing, and its neighbours are kept', async (t) => {
    const database = await openNotes(t, open);
    // Twice: an engine may guard the groups that follow a failure in another way than the first.
    for (const round of ['x', 'y']) {
      const results = await Promise.allSettled([
        database.write((tx) => insert(tx, `${round}1`)),
        database.write(async (tx) => {
          await insert(tx, `${round}2`);
          throw new Refused();
        }),
        database.write((tx) => insert(tx, `${round}3`)),
      ]);
      assert.deepEqual(
        results.map((result) => result.status),
        ['fulfilled', 'rejected', 'fulfilled'],
      );
      assert.ok(results[1]?.status === 'rejected' && results[1].reason instanceof Refused);
    }
    assert.deepEqual(await ids(database), ['x1', 'x3', 'y1', 'y3']);
  });

  test('a row that was written and returned is taken back with its work', async (t) => {
    const database = await openNotes(t, open);
    const failing = database.write(async (tx) => {
      const table = tx.names.collectionTable('note');
      const rows = await tx.returning(sql`INSERT INTO ${table} (id, text) VALUES ('a', 'x') RETURNING id`);
      assert.deepEqual(rows, [['a']]);
      throw new Refused();
    });
    const kept = database.write((tx) => insert(tx, 'beside'));
    await assert.rejects(failing, Refused);
    await kept;
    assert.deepEqual(await ids(database), ['beside']);
  });

  test('a row that a unique index refuses costs its own work everything and its neighbours nothing', async (t) => {
    const database = await openNotes(t, open);
    const works = ['a', 'b', 'a', 'c'].map((id, index) =>
      database.write(async (tx) => {
        await insert(tx, `n${index}`);
        await insert(tx, id);
      }),
    );
    const results = await Promise.allSettled(works);
    const refused = results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []));
    // On PostgreSQL two connections ask for the same row, and either may be first.
    const mayBeSecond = engine === 'sqlite' ? [2] : [0, 2];
    assert.ok(refused.length === 1 && mayBeSecond.includes(refused[0] ?? -1), `${refused.join()} refused`);
    const kept = ['n0', 'n1', 'n2', 'n3'].filter((_, index) => index !== refused[0]);
    assert.deepEqual(await ids(database), ['a', 'b', 'c', ...kept]);
  });

  test('a work that has caught the refusal of a statement goes on without it', async (t) => {
    const database = await openNotes(t, open);
    await database.write(async (tx) => {
      await insert(tx, 'a');
      await assert.rejects(insert(tx, 'a'), UniqueViolation);
      await insert(tx, 'b');
    });
    assert.deepEqual(await ids(database), ['a', 'b']);
  });

  test('rows that are inserted together are refused like one, and what comes behind them is answered', async (t) => {
    const database = await openNotes(t, open);
    const rows = (...ids: readonly string[]): readonly PlainTuple[] => ids.map((id) => [id, 'text']);
    const insertNotes = (tx: Transaction, given: readonly PlainTuple[]): Promise<void> =>
      tx.insertRows(sql`${tx.names.collectionTable('note')} (id, text)`, given);
    const failing = database.write(async (tx) => {
      const steps = [rows('a', 'b'), rows('c', 'a', 'd'), rows('e')].map((given) => insertNotes(tx, given));
      const [first, second] = await Promise.allSettled(steps);
      assert.equal(first?.status, 'fulfilled');
      if (second?.status === 'rejected') throw second.reason;
    });
    await assert.rejects(failing, (error) => {
      assert.ok(error instanceof UniqueViolation);
      assert.deepEqual(error.columns, ['id']);
      return true;
    });
    // On a connection that is in order: nothing of the rows that were not taken is left on it.
    await database.write(async (tx) => {
      await Promise.all([insertNotes(tx, rows('x')), insertNotes(tx, rows('y', 'z'))]);
      assert.deepEqual(await ids(tx), ['x', 'y', 'z']);
    });
    const appended = ['1', '2'].map((id) =>
      database.write((tx) => insertNotes(tx, rows(id)), { isAppending: true }),
    );
    await Promise.all(appended);
    assert.deepEqual(await ids(database), ['1', '2', 'x', 'y', 'z']);
  });

  test('a refusal is told only when what it rests on is committed', async (t) => {
    const database = await openNotes(t, open);
    const first = database.write((tx) => insert(tx, 'a'));
    const second = database.write(async (tx) => {
      if ((await ids(tx)).includes('a')) throw new Refused();
    });
    const seenAtRefusal = second.then(
      () => ['a'],
      () => ids(database),
    );
    assert.deepEqual(await seenAtRefusal, ['a']);
    await first;
  });

  test('a work that alters tables may let the event loop turn by its transaction, in which nothing is lost', async (t) => {
    const database = await openNotes(t, open);
    await database.write(
      async (tx) => {
        await tx.pause();
        await insert(tx, 'a');
        await tx.pause();
        await tx.pause();
        await insert(tx, 'b');
      },
      { isExclusive: true, alteredTables: 100 },
    );
    await database.write(async (tx) => {
      await insert(tx, 'c');
      await tx.pause();
    });
    assert.deepEqual((await ids(database)).toSorted(), ['a', 'b', 'c']);
  });

  test('a work that awaits something else fails alone, at once, and its transaction is dead from then on', async (t) => {
    const database = await openNotes(t, open);
    const never = Promise.withResolvers<void>();
    const late: Promise<unknown>[] = [];
    const before = database.write((tx) => insert(tx, 'a'));
    const foreign = database.write(async (tx) => {
      await insert(tx, 'b');
      await never.promise;
      late.push(insert(tx, 'late').catch((error: unknown) => error));
    });
    const after = database.write((tx) => insert(tx, 'c'));
    await assert.rejects(foreign, /awaited something else/);
    await Promise.all([before, after]);
    never.resolve();
    await database.write((tx) => insert(tx, 'd'));
    assert.ok(late.length > 0);
    for (const error of await Promise.all(late)) assert.match(String(error), /used after it had ended/);
    assert.deepEqual(
      await ids(database),
      ['a', 'b', 'c', 'd'].filter((id) => id !== 'b'),
    );
  });
});

describeEngines('what is seen', (open, engine) => {
  // On PostgreSQL the read may be run after the commit: it has a connection of its own.
  const skip = engine === 'postgres';
  test('a read beside a work sees nothing of it before the commit', { skip }, async (t) => {
    const database = await openNotes(t, open);
    const outside: Promise<readonly string[]>[] = [];
    const inside: (readonly string[])[] = [];
    await Promise.all([
      database.write(async (tx) => {
        await insert(tx, 'a');
        inside.push(await ids(tx));
        outside.push(ids(database));
      }),
      database.write(async () => void outside.push(ids(database))),
    ]);
    assert.deepEqual(inside, [['a']]);
    assert.deepEqual(await Promise.all(outside), [[], []]);
  });

  test('a read after a write has resolved sees it, even in the turn of an earlier read', async (t) => {
    const database = await openNotes(t, open);
    const during: Promise<readonly string[]>[] = [];
    for (let n = 0; n < 20; n += 1) {
      const id = `n${String(n).padStart(2, '0')}`;
      const before = ids(database);
      const seen = await database
        .write(async (tx) => {
          await insert(tx, id);
          // In the turn of the commit, so that it and the read below might share an old view.
          during.push(ids(database));
        })
        .then(() => ids(database));
      assert.equal(seen.at(-1), id);
      // On PostgreSQL it may be run after the commit: it has a connection of its own.
      const isEarlier = engine === 'sqlite' || (await before).length === n;
      assert.equal((await before).length, isEarlier ? n : n + 1);
    }
  });

  test('all handles of a database see what one of them has written', async (t) => {
    const database = await openNotes(t, open);
    const other = await open(t, database);
    assert.deepEqual(await ids(other), []);
    await database.write((tx) => insert(tx, 'a'));
    // The other handle may share one view among the reads of a turn; in the next it must look again.
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(await ids(other), ['a']);
  });

  test('rows come as objects and as arrays, and text compares by its bytes', async (t) => {
    const database = await openNotes(t, open);
    await database.write(async (tx) => {
      for (const id of ['é', 'b', 'B', 'a']) await insert(tx, id);
    });
    assert.deepEqual(await ids(database), ['B', 'a', 'b', 'é']);
    const statement = sql`SELECT id, text FROM ${database.names.collectionTable('note')} ORDER BY id LIMIT 1`;
    assert.deepEqual({ ...(await database.get(statement)) }, { id: 'B', text: 'text of B' });
    assert.deepEqual(await database.tuples(statement), [['B', 'text of B']]);
    assert.equal(
      await database.get(sql`SELECT id FROM ${database.names.collectionTable('note')} WHERE id = 'none'`),
      undefined,
    );
  });
});

describeEngines('after the commit', (open) => {
  test('callbacks run in order, see what was written, and come before the answers', async (t) => {
    const database = await openNotes(t, open);
    const told: string[] = [];
    // By id: works of several connections are committed in any order.
    const seen = new Map<string, Promise<readonly string[]>>();
    const works = ['a', 'b', 'c'].map((id) =>
      database
        .write(async (tx) => {
          await insert(tx, id);
          tx.afterCommit(() => told.push(`${id} first`));
          tx.afterCommit(() => {
            told.push(`${id} second`);
            seen.set(id, ids(database));
          });
        })
        .then(() => told.push(`${id} answered`)),
    );
    await Promise.all(works);
    for (const id of ['a', 'b', 'c']) {
      const places = ['first', 'second', 'answered'].map((what) => told.indexOf(`${id} ${what}`));
      assert.ok(
        places.every((place, index) => place > (places[index - 1] ?? -1)),
        told.join(', '),
      );
    }
    for (const id of ['a', 'b', 'c']) assert.ok((await seen.get(id))?.includes(id));
  });

  test('callbacks of a work that was rolled back are never called', async (t) => {
    const database = await openNotes(t, open);
    const told: string[] = [];
    const failing = database.write(async (tx) => {
      tx.afterCommit(() => told.push('rolled back'));
      await insert(tx, 'a');
      throw new Refused();
    });
    const kept = database.write(async (tx) => {
      tx.afterCommit(() => told.push('kept'));
      await insert(tx, 'b');
    });
    await assert.rejects(failing, Refused);
    await kept;
    assert.deepEqual(told, ['kept']);
  });
});

describeEngines('errors in our own words', (open) => {
  test('a unique index is told by its columns, and by its name where they are expressions', async (t) => {
    const database = await openNotes(t, open);
    const note = database.names.collectionTable('note');
    const change = (statement: Sql): Promise<number> =>
      database.write((tx) => tx.run(statement), { isExclusive: true });
    const add = (id: string, text: string): Promise<unknown> =>
      database.write((tx) =>
        tx.run(
          sql`INSERT INTO ${tx.names.collectionTable('note')} (id, text, size) VALUES (${id}, ${text}, 1)`,
        ),
      );
    await change(sql`CREATE UNIQUE INDEX note_text_size ON ${note} (text, size)`);
    await add('a', 'x');
    await assert.rejects(add('a', 'y'), isViolation(['id'], undefined));
    await assert.rejects(add('b', 'x'), isViolation(['text', 'size'], undefined));
    await change(sql`CREATE UNIQUE INDEX note_lower ON ${note} (lower(text))`);
    await assert.rejects(add('b', 'X'), isViolation([], 'note_lower'));
  });

  test('a constraint that no client can break is no answer to a client', async (t) => {
    const database = await openNotes(t, open);
    const breach = database.write((tx) =>
      tx.run(sql`INSERT INTO ${tx.names.collectionTable('note')} (id, text) VALUES ('a', ${null})`),
    );
    await assert.rejects(
      breach,
      (error) => !(error instanceof AppError) && !(error instanceof UniqueViolation),
    );
  });
});

describeEngines('bounds and the end', (open, engine) => {
  test('more works than can wait are refused at once as unavailable, and the others are kept', async (t) => {
    const database = await openNotes(t, open);
    const asked = 10_100;
    const works = Array.from({ length: asked }, (_, n) => database.write((tx) => insert(tx, `n${n}`)));
    const results = await Promise.allSettled(works);
    const refused = results.filter((result) => result.status === 'rejected');
    assert.ok(refused.length > 0 && refused.length <= 100, `${refused.length} refused`);
    for (const { reason } of refused) {
      assert.ok(reason instanceof AppError && reason.code === 'unavailable' && reason.retryAfter === 1);
    }
    assert.equal((await ids(database)).length, asked - refused.length);
    await database.write((tx) => insert(tx, 'after'));
  });

  test('a stop lets what waits end, and refuses what comes later', async (t) => {
    const database = await openNotes(t, open);
    const works = Array.from({ length: 1_000 }, (_, n) => database.write((tx) => insert(tx, `n${n}`)));
    await database.stop();
    await Promise.all(works);
    await assert.rejects(
      database.write((tx) => insert(tx, 'late')),
      (error) => error instanceof AppError && error.code === 'unavailable',
    );
    const again = await open(t, database);
    assert.equal((await ids(again)).length, 1_000);
  });

  test('works are done in the order in which they were asked for, exclusive ones among them', async (t) => {
    const database = await openNotes(t, open);
    const order: string[] = [];
    const works = ['a', 'B', 'c', 'd', 'E', 'F', 'g'].map((id) =>
      database.write(
        async (tx) => {
          await insert(tx, id);
          tx.afterCommit(() => order.push(id));
        },
        { isExclusive: id < 'a' },
      ),
    );
    await Promise.all(works);
    // On PostgreSQL neighbours that are not exclusive are committed by two connections, in either order.
    const isSwapped = engine === 'postgres' && order[2] === 'd';
    assert.equal(order.join(''), isSwapped ? 'aBdcEFg' : 'aBcdEFg');
  });
});

async function openNotes(t: TestContext, open: OpenDatabase): Promise<Database> {
  const database = await open(t);
  await database.write(
    (tx) =>
      tx.run(
        sql`CREATE TABLE ${tx.names.collectionTable('note')} (id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, size INTEGER)`,
      ),
    { isExclusive: true },
  );
  return database;
}

async function insert(tx: Transaction, id: string): Promise<void> {
  await tx.run(
    sql`INSERT INTO ${tx.names.collectionTable('note')} (id, text) VALUES (${id}, ${`text of ${id}`})`,
  );
}

async function ids(reader: Reader): Promise<readonly string[]> {
  const rows = await reader.all(sql`SELECT id FROM ${reader.names.collectionTable('note')} ORDER BY id`);
  return rows.map((row) => String(row['id']));
}

function isViolation(columns: readonly string[], index: string | undefined): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof UniqueViolation, String(error));
    assert.deepEqual(error.columns, columns);
    assert.equal(error.index, index);
    assert.ok(error.cause instanceof Error);
    return true;
  };
}
