// Both engines: each limits what goes into an index.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { listRecords } from '../../src/records/list-records.ts';
import { ruleInputOfCaller } from '../../src/access/rule-input.ts';
import { sql, type Sql } from '../../src/sql/sql.ts';
import type { Database, Tuple } from '../../src/storage/database.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';
import { testEngine } from '../support/test-config.ts';

const path = '/api/collections';
const longMax = 2_000_000;
const unlimited = { type: 'text', max: longMax } as const;

async function setUp(t: TestContext, definition: object): Promise<TestService> {
  const service = await startService(t);
  const made = await service.request(path, {
    method: 'POST',
    token: true,
    body: { name: 'notes', ...definition },
  });
  assert.equal(made.status, 200, made.text);
  return service;
}

function add(service: TestService, body: object): Promise<TestAnswer> {
  return service.request(`${path}/notes/records`, { method: 'POST', token: true, body });
}

/** No two characters of it alike in a way that an engine could make it shorter by. */
function longText(length: number, seed: number): string {
  let state = seed;
  // Lehmer's generator with the multiplier of Park and Miller (1988).
  const next = (): number => (state = (state * 48_271) % 0x7fffffff) % 62;
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  return Array.from({ length }, () => letters[next()]).join('');
}

const million = longText(1_000_000, 1);

test('a text of a million characters goes into every kind of index', async (t) => {
  const service = await setUp(t, {
    fields: [
      { name: 'a', ...unlimited },
      { name: 'b', ...unlimited },
      { name: 'c', ...unlimited },
      { name: 'n', type: 'number' },
      { name: 'data', type: 'json', maxSize: longMax },
      { name: 'created', ...unlimited },
    ],
    indexes: [
      'CREATE INDEX plain ON notes (a)',
      'CREATE INDEX several ON notes (a DESC, n, b COLLATE NOCASE, data, created)',
      "CREATE INDEX partial ON notes (n) WHERE a != '' AND b < 'zz'",
      'CREATE UNIQUE INDEX one ON notes (a, n, b)',
      "CREATE UNIQUE INDEX nocase ON notes (c COLLATE NOCASE) WHERE c != ''",
      'CREATE UNIQUE INDEX of_json ON notes (data)',
    ],
  });
  for (const n of [1, 2]) {
    const data = [million, n];
    const body = { a: million, b: `${million}\\é'"`, c: `${million}\\${n}`, n, data, created: million };
    assert.equal((await add(service, body)).status, 201);
  }
  const again = await add(service, { a: million, b: `${million}\\é'"`, n: 1 });
  assert.deepEqual([again.status, Object.keys(again.json.data)], [400, ['a', 'n', 'b']]);
  const otherCase = await add(service, { a: 'x', c: `${million.toLowerCase()}\\1` });
  assert.deepEqual([otherCase.status, Object.keys(otherCase.json.data)], [400, ['c']]);
  const sameData = await add(service, { b: 'x', data: [million, 1] });
  assert.deepEqual([sameData.status, Object.keys(sameData.json.data)], [400, ['data']]);
  // They differ in their last character.
  assert.equal((await add(service, { a: million, b: `${million}\\é'`, n: 1 })).status, 201);
  // Null is equal to nothing, not even to null.
  for (const b of ['p', 'q']) assert.equal((await add(service, { b, data: null })).status, 201);
});

test('an index of sixteen columns takes the longest values of all of them', async (t) => {
  const names = Array.from({ length: 16 }, (_, at) => `f${at}`);
  for (const type of ['text', 'email', 'number']) {
    const service = await setUp(t, {
      fields: names.map((name) => ({ name, type, ...(type === 'text' ? { max: longMax } : {}) })),
      indexes: [
        `CREATE INDEX plain ON notes (${names.join(', ')})`,
        `CREATE UNIQUE INDEX one ON notes (${names.map((name) => `${name} COLLATE NOCASE`).join(', ')})`,
      ],
    });
    const emailOf = (at: number): string =>
      `${longText(64, at + 1)}@${[1, 2, 3].map((label) => longText(61, label + at)).join('.')}.de`;
    const value = (at: number): unknown =>
      type === 'text' ? `${'😀'.repeat(200)}${at}` : type === 'email' ? emailOf(at) : at + 1 / 3;
    const record = Object.fromEntries(names.map((name, at) => [name, value(at)]));
    const made = await add(service, record);
    assert.equal(made.status, 201, made.text);
    assert.deepEqual(Object.keys((await add(service, record)).json.data), names);
    assert.equal((await add(service, { ...record, f15: value(99) })).status, 201);
    await service.stop();
  }
});

const texts = [
  '',
  'b',
  'x'.repeat(127),
  'x'.repeat(128),
  'x'.repeat(129),
  `${'x'.repeat(128)}a`,
  `${'x'.repeat(128)}A`,
  `${'x'.repeat(127)}😀`,
  `${'x'.repeat(127)}😀😀`,
  `${'x'.repeat(127)}ｱ`,
  million,
  `${million}a`,
];

test('long texts of an indexed field are compared and sorted by the whole of them', async (t) => {
  const service = await setUp(t, {
    fields: [{ name: 'a', ...unlimited }],
    indexes: ['CREATE INDEX plain ON notes (a)'],
  });
  for (const a of texts) assert.equal((await add(service, { a })).status, 201);
  const bytewise = (one: string, other: string): number =>
    Buffer.compare(Buffer.from(one), Buffer.from(other));
  const found = async (query: string): Promise<readonly string[]> => {
    const { json } = await service.request(`${path}/notes/records?fields=a&${query}`, { token: true });
    const items: readonly { readonly a: string }[] = json.items;
    return items.map(({ a }) => a);
  };
  const ordered = texts.toSorted(bytewise);
  assert.ok((await found('sort=a')).every((text, at) => text === ordered[at]));
  assert.ok((await found('sort=-a')).every((text, at) => text === ordered.at(-1 - at)));
  const comparisons: readonly (readonly [string, (order: number) => boolean])[] = [
    ['=', (order) => order === 0],
    ['!=', (order) => order !== 0],
    ['<', (order) => order < 0],
    ['<=', (order) => order <= 0],
    ['>', (order) => order > 0],
    ['>=', (order) => order >= 0],
  ];
  for (const constant of texts.filter((text) => text.length < 1_000)) {
    for (const [operator, holds] of comparisons) {
      const filter = encodeURIComponent(`a ${operator} '${constant}'`);
      const wanted = ordered.filter((text) => holds(bytewise(text, constant)));
      const answer = await found(`sort=a&filter=${filter}`);
      assert.ok(
        answer.length === wanted.length && answer.every((text, at) => text === wanted[at]),
        `${operator} ${constant}`,
      );
    }
  }
});

const long = 'y'.repeat(200);
const questions: readonly (readonly [query: string, index: string])[] = [
  ["filter=title='t5'", 'by_title'],
  ["filter=title=''", 'by_title'],
  [`filter=title='${long}'`, 'by_title'],
  [`filter=title>='t5'%26%26title<'t6'&sort=title`, 'by_title'],
  [`filter=title>'${long}'&sort=title`, 'by_title'],
  ['sort=title', 'by_title'],
  ['sort=-title', 'by_title'],
  ["filter=status='s7'&sort=-created", 'by_status'],
  ['sort=status,-created', 'by_status'],
  ["filter=open='yes'%26%26title='t5'", 'open_titles'],
  ["filter=code='c5'", 'by_code'],
  ["filter=code='c5'&sort=-title", 'by_code'],
  ['sort=-mail', 'by_mail'],
  ['sort=-created', '$created'],
];

test('filters and sorts by an indexed text are served by its index', async (t) => {
  const service = await setUp(t, {
    fields: [
      { name: 'title', type: 'text' },
      { name: 'status', type: 'select', values: Array.from({ length: 50 }, (_, at) => `s${at}`) },
      { name: 'open', type: 'text', max: 10 },
      { name: 'code', type: 'text' },
      { name: 'mail', type: 'email' },
    ],
    indexes: [
      'CREATE INDEX by_title ON notes (title)',
      'CREATE INDEX by_status ON notes (status, created DESC)',
      "CREATE INDEX open_titles ON notes (title) WHERE open = 'yes'",
      'CREATE UNIQUE INDEX by_code ON notes (code)',
      'CREATE INDEX by_mail ON notes (mail)',
    ],
  });
  await service.withInstance('default', async (instance) => {
    const { database } = instance;
    const isSqlite = testEngine === 'sqlite';
    await database.write((tx) => fill(tx.names.collectionTable('notes'), isSqlite, (each) => tx.run(each)));
    for (const [query, index] of questions) {
      const plans: string[] = [];
      const asking = explaining(database, plans);
      const request = { collection: 'notes', query: new URLSearchParams(`skipTotal=1&${query}`) };
      await listRecords(
        { ...instance, database: asking },
        ruleInputOfCaller({ kind: 'superuser', id: '' }),
        request,
      );
      const plan = plans.join('\n');
      assert.ok(plan.includes(index), `${query}\n${plan}`);
      assert.doesNotMatch(plan, /Seq Scan/, query);
      // By what the index does not hold, rows that are equal in what it holds are sorted.
      if (!query.includes('filter'))
        assert.doesNotMatch(plan, /TEMP B-TREE FOR ORDER BY|(?<!Incremental )Sort {2}\(/, query);
    }
  });
});

async function fill(table: Sql, isSqlite: boolean, run: (statement: Sql) => Promise<unknown>): Promise<void> {
  const numbers = isSqlite
    ? sql`(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i FROM n)`
    : sql`generate_series(1, 20000) AS n(i)`;
  await run(sql`INSERT INTO ${table} (id, "$revision", title, status, open, code, mail, created, updated)
    SELECT 'r' || i, 1, 't' || (i % 5000), 's' || (i % 50), CASE WHEN i % 100 < 2 THEN 'yes' ELSE 'no' END, 'c' || i, i || '@a.de', '2026-01-01 ' || (100000 + i), '' FROM ${numbers}`);
  await run(sql`ANALYZE ${isSqlite ? sql`` : table}`);
}

/** The database, whose lists find nothing and tell how they would have looked, each time anew. */
function explaining(database: Database, plans: string[]): Database {
  const tuples = async (statement: Sql): Promise<Tuple[]> => {
    const explain =
      database.engine === 'sqlite' ? sql`EXPLAIN QUERY PLAN ${statement}` : sql`EXPLAIN ${statement}`;
    const rows = await database.tuples(explain);
    plans.push(rows.map((row) => row.join(' ')).join('\n'));
    return [];
  };
  const others = new Map<string | symbol, unknown>([
    ['tuples', tuples],
    ['search', tuples],
    ['state', () => undefined],
  ]);
  // Everything else is the database's own, asked of itself.
  return new Proxy(database, {
    get: (target, name) => others.get(name) ?? Reflect.get(target, name, target),
  });
}

test('names too long for an engine are told by their owner’s names when a unique index refuses', async (t) => {
  const column = 'n'.repeat(100);
  const service = await setUp(t, {
    fields: [
      { name: column, type: 'number' },
      { name: 'a', type: 'text' },
    ],
    indexes: [
      `CREATE UNIQUE INDEX ${'i'.repeat(300)} ON notes (a)`,
      `CREATE UNIQUE INDEX ${'i'.repeat(301)} ON notes (${column})`,
    ],
  });
  assert.equal((await add(service, { a: 'x', [column]: 1 })).status, 201);
  const ofIndex = await add(service, { a: 'x', [column]: 2 });
  assert.deepEqual([ofIndex.status, Object.keys(ofIndex.json.data)], [400, ['a']]);
  const ofColumn = await add(service, { a: 'y', [column]: 1 });
  assert.deepEqual([ofColumn.status, Object.keys(ofColumn.json.data)], [400, [column]]);
  assert.equal(ofColumn.json.data[column].code, 'validation_not_unique');
});
