import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { sqliteDialect } from '../filters/sqlite-dialect.ts';
import { sql, type Sql } from '../sql/sql.ts';
import { sqliteNames } from '../storage/sqlite/sqlite-names.ts';
import type { Reader, Tuple } from '../storage/database.ts';
import { columnResolver, type ListSource } from './list-source.ts';
import { parseListQuery } from './list-query.ts';
import { RowJsonCache } from './row-cache.ts';
import { planList } from './plan.ts';
import { type ListResult, runJson, runList } from './run-list.ts';

/** Nine rows: a to i, of them d hidden by the rule; the odd ones are `even = 0`. */
const database = new DatabaseSync(':memory:');
database.exec('CREATE TABLE things (position INTEGER PRIMARY KEY, id TEXT, even INTEGER, secret TEXT)');
for (const [index, id] of 'abcdefghi'.split('').entries()) {
  database.prepare('INSERT INTO things VALUES (?, ?, ?, ?)').run(index + 1, id, index % 2, `s${id}`);
}

const statements: string[] = [];
const tuples = async (statement: Sql): Promise<Tuple[]> => {
  statements.push(statement.text);
  const prepared = database.prepare(statement.text);
  prepared.setReturnArrays(true);
  // With arrays asked for, rows are arrays; the types of node:sqlite do not follow.
  return prepared.all(...statement.values) as unknown as Tuple[];
};

const reader: Reader = {
  names: sqliteNames,
  all: async (statement) => database.prepare(statement.text).all(...statement.values),
  get: async (statement) => database.prepare(statement.text).get(...statement.values),
  tuples,
  search: tuples,
};

const source: ListSource = {
  columns: sql`id, even`,
  from: sql`things`,
  where: sql`id <> ${'d'} OR FALSE`,
  tieBreaker: { sql: sql`position`, kind: 'number' },
  resolve: columnResolver({ id: { sql: sql`id`, kind: 'text' }, even: { sql: sql`even`, kind: 'bool' } }),
  dialect: sqliteDialect,
  now: 0,
};

async function list(query: string, from: ListSource = source): Promise<ListResult> {
  statements.length = 0;
  return runList(reader, parseListQuery(new URLSearchParams(query)), from);
}

const lists: readonly (readonly [query: string, ids: string, totals: string, statements: number])[] = [
  ['', 'abcefghi', '8/1', 1],
  ['perPage=3', 'abc', '8/3', 1],
  ['perPage=3&page=2', 'efg', '8/3', 1],
  ['perPage=3&page=3', 'hi', '8/3', 1],
  ['perPage=3&page=4', '', '8/3', 2],
  ['perPage=8', 'abcefghi', '8/1', 1],
  ['perPage=4&page=2', 'fghi', '8/2', 1],
  ['perPage=1000&page=2147483647', '', '8/1', 2],
  ['skipTotal=1&perPage=3', 'abc', '-1/-1', 1],
  ['skipTotal=1&page=9', '', '-1/-1', 1],
  ['sort=-id&perPage=2', 'ih', '8/4', 1],
  ['sort=-even', 'hfbigeca', '8/1', 1],
  ['filter=even=true', 'bfh', '3/1', 1],
  ['filter=even=true||id=%27d%27', 'bfh', '3/1', 1],
  ['filter=id=%27x%27', '', '0/0', 1],
  ['filter=id=%27x%27&page=2', '', '0/0', 2],
];

for (const [query, ids, totals, count] of lists) {
  test(`?${query} lists ${ids || 'nothing'} of ${totals} with ${count} statement(s)`, async () => {
    const result = await list(query);
    assert.equal(result.items.map(([id]) => id).join(''), ids);
    assert.equal(`${result.totalItems}/${result.totalPages}`, totals);
    assert.equal(statements.length, count);
  });
}

for (const [query, ids, totals] of lists) {
  test(`?${query} is the same list where the engine writes the items, and when they are known`, async () => {
    const kind = { isFilled: false };
    const versions = sql`position, 7`;
    const columns = { rows: sql`${versions}, json_quote(id)`, versions };
    const paging = parseListQuery(new URLSearchParams(query));
    const offset = (paging.page - 1) * paging.perPage;
    const bound = { plan: planList({ ...paging, offset }, source, columns), values: [], paging };
    const texts = new RowJsonCache({ lengthMax: 100_000 });
    // Not known, known but for all one can tell by chance, known.
    for (const isWarm of [false, ids === '', true]) {
      assert.equal(kind.isFilled, isWarm);
      statements.length = 0;
      const page = await runJson(reader, bound, { kind, texts });
      assert.deepEqual(page.items, ids === '' ? [] : ids.split('').map((id) => JSON.stringify(id)));
      assert.equal(`${page.totalItems}/${page.totalPages}`, totals);
      assert.equal(statements[0]?.includes('json_quote'), !isWarm);
      // Behind the end there is no row to tell how many there are.
      const isBehind = page.page > 1 && ids === '' && totals !== '-1/-1';
      assert.equal(statements.length, isBehind ? 2 : 1);
    }
  });
}

test('page and perPage are returned as they were used', async () => {
  const { page, perPage } = await list('page=-3&perPage=5000');
  assert.deepEqual([page, perPage], [1, 1_000]);
});

test('without a rule the whole table is listed', async () => {
  const { where: _, ...open } = source;
  assert.equal((await list('', open)).totalItems, 9);
});

test('no name but those of the column table is known', async () => {
  for (const name of ['secret', 'position', 'constructor', '__proto__', 'ID']) {
    await assert.rejects(list(`filter=${name}=1`), {
      code: 'bad_request',
      message: `Unknown field "${name}" at position 0.`,
    });
    await assert.rejects(list(`sort=${name}`), {
      code: 'bad_request',
      message: `Unknown field "${name}" at position 0.`,
    });
  }
  assert.deepEqual(statements, []);
});

test('lists of one size that differ in their values share a statement, and their first pages another', async () => {
  const textOf = async (query: string): Promise<string | undefined> => {
    await list(query);
    return statements[0];
  };
  const first = await textOf('filter=id=%27a%27&page=1&perPage=5&skipTotal=1');
  assert.equal(await textOf('filter=id=%27b%27&page=1&perPage=5&skipTotal=1'), first);
  const third = await textOf('filter=id=%27a%27&page=3&perPage=5&skipTotal=1');
  assert.equal(await textOf('filter=id=%27b%27&page=7&perPage=5&skipTotal=1'), third);
  assert.notEqual(first, third);
});
