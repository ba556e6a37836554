import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertInto, sql } from '../sql/sql.ts';
import type { DependentRun, Names } from './database.ts';
import { postgresNames } from './postgres/postgres-names.ts';
import { sqliteNames } from './sqlite/sqlite-names.ts';

const inserts = ['a', 'b', 'c', 'd'].map((id) => insertInto(sql`event`, sql`id`, sql`${id}`));

/** Of what `runs` say: what one insertion is in SQL. */
function textsOf(names: Names, runs: readonly DependentRun[]): readonly string[] {
  const insertion = { from: sql`event`, inserts };
  const parts = {
    into: sql`INSERT INTO delivery (event, endpoint)`,
    columns: [['endpoint', 'text']],
  } as const;
  const row = sql`inserted.position, given.endpoint`;
  return names.insertWithDependents(insertion, { ...parts, row, runs }).map(({ text }) => text);
}

const all = (endpoint: string): DependentRun => ({ first: 0, last: 3, values: [endpoint] });
const some = (first: number, last: number): DependentRun => ({ first, last, values: ['e'] });

test('on PostgreSQL rows that come with others are one statement of one text, however many they are', () => {
  const names = postgresNames('schema', 'instance');
  const few = textsOf(names, [some(0, 0), some(2, 3)]);
  assert.equal(few.length, 1);
  assert.deepEqual(textsOf(names, [some(1, 1), some(3, 3), some(0, 2), all('f')]), few);
  const ofAll = textsOf(names, [all('e')]);
  assert.equal(ofAll.length, 1);
  assert.deepEqual(textsOf(names, [all('e'), all('f')]), ofAll);
});

test('on SQLite those of each run of neighbours are a statement of the same text', () => {
  const [inserted, ...following] = textsOf(sqliteNames, [some(0, 1), some(3, 3), all('f')]);
  assert.match(String(inserted), /^INSERT INTO event/);
  assert.equal(following.length, 3);
  assert.equal(new Set(following).size, 1);
});

for (const names of [postgresNames('schema', 'instance'), sqliteNames])
  test(`rows that nothing comes with are inserted all the same (${names.engine})`, () => {
    assert.match(textsOf(names, []).join(';'), /^INSERT INTO event[^;]*$/);
  });
