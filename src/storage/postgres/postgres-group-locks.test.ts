import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { counted, increment, openCounters } from '../../../test/support/counters.ts';
import { sql } from '../../sql/sql.ts';

const appending = { isAppending: true } as const;

test('of works that change the same rows, here and on another node, none is lost', async (t) => {
  const ids = ['a', 'b', 'c'];
  const { database, other } = await openCounters(t, ids);
  const each = 25;
  const works = Array.from({ length: each }, () =>
    ids.flatMap((id) => [increment(database, id), increment(other, id)]),
  );
  const answers = await Promise.all(works.flat());
  const all = Array.from({ length: 2 * each }, (_, n) => n + 1).flatMap((n) => [n, n, n]);
  assert.deepEqual(
    answers.toSorted((one, two) => one - two),
    all,
  );
  assert.deepEqual((await counted(database)).counts, { a: 2 * each, b: 2 * each, c: 2 * each });
});

test('a work whose row is locked by another transaction waits alone', async (t) => {
  const { database, url } = await openCounters(t, ['a', 'b', 'c']);
  const client = new Client({ connectionString: url });
  await client.connect();
  t.after(() => client.end());
  await client.query(`BEGIN; SELECT 1 FROM i_test.counter WHERE id = 'b' FOR UPDATE`);
  const locked = increment(database, 'b');
  const told: string[] = [];
  void locked.then(() => told.push('b'));
  // More of them than groups may run, and among them what only appends.
  for (let round = 1; round <= 3; round += 1) {
    const others = ['a', 'c'].map((id) => increment(database, id));
    assert.deepEqual(await Promise.all(others), [round, round]);
    await database.write((tx) => tx.tuples(sql`SELECT 1`), appending);
  }
  assert.deepEqual(told, []);
  await client.query('COMMIT');
  assert.equal(await locked, 1);
});

test('works that wait for a foreign lock block no others', async (t) => {
  const { database, url } = await openCounters(t, ['a', 'b']);
  const client = new Client({ connectionString: url });
  await client.connect();
  t.after(() => client.end());
  await client.query(`BEGIN; SELECT 1 FROM i_test.counter WHERE id = 'b' FOR UPDATE`);
  const insertBeside = (id: string): Promise<unknown> =>
    database.write(async (tx) => {
      const table = tx.names.collectionTable('counter');
      await tx.tuples(sql`SELECT 1 FROM ${table} WHERE id = 'b' FOR KEY SHARE`);
      await tx.run(sql`INSERT INTO ${table} (id, count) VALUES (${id}, 0)`);
    }, appending);
  const told: string[] = [];
  const waiting: Promise<void>[] = [];
  // As many groups as there may be at the same time.
  for (const pair of ['cd', 'ef']) {
    for (const id of pair) waiting.push(insertBeside(id).then(() => void told.push(id)));
    await setImmediate();
  }
  // They give up after 5 s at the earliest.
  const others = increment(database, 'a').then(() => 'kept');
  assert.equal(await Promise.race([others, sleep(2_000, 'waiting', { ref: false })]), 'kept');
  assert.deepEqual(told, []);
  await client.query('COMMIT');
  await Promise.all(waiting);
  assert.deepEqual(new Set(told), new Set('cdef'));
});
