import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { AppError } from '../../base/errors.ts';
import { fromTimestamp } from '../../base/timestamp.ts';
import {
  identifier,
  joinSql,
  foldFunction,
  likeFunction,
  realTextFunction,
  sql,
  type Sql,
  type SqlValue,
} from '../../sql/sql.ts';
import { compileFilter, constantOf } from './compile.ts';
import { compileSort, parseSort, sortTerms } from './sort.ts';
import { jsonPath, type Operand, type Resolve } from '../operand.ts';
import { parseFilter } from '../parse.ts';
import { sqliteDialect } from '../sqlite-dialect.ts';

type SpecKind = 'text' | 'number' | 'bool' | 'date' | 'json' | 'multiple';

interface SpecCollection {
  readonly fields: Readonly<Record<string, SpecKind>>;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

interface SpecCase {
  readonly about?: string;
  readonly collection: string;
  readonly filter?: string;
  readonly sort?: string;
  readonly ids?: readonly string[];
  readonly position?: number;
}

interface Spec {
  readonly now: string;
  readonly collections: Readonly<Record<string, SpecCollection>>;
  readonly cases: readonly SpecCase[];
}

// The file is our own; a member of another shape fails the cases that use it.
const spec = JSON.parse(readFileSync(new URL('../../../spec/filters.json', import.meta.url), 'utf8')) as Spec;
const now = fromTimestamp(spec.now);

interface Table {
  readonly database: DatabaseSync;
  readonly resolve: Resolve;
}

/** The columns of a record table, but nullable, as the rows of a joined table are. */
const columnTypes: Readonly<Record<SpecKind, Sql>> = {
  text: sql`TEXT`,
  number: sql`REAL`,
  bool: sql`INTEGER`,
  date: sql`TEXT`,
  json: sql`TEXT`,
  multiple: sql`TEXT`,
};

function buildTable({ fields, rows }: SpecCollection): Table {
  const database = new DatabaseSync(':memory:');
  database.function(realTextFunction.name, realTextFunction.call);
  database.function(foldFunction.name, foldFunction.call);
  database.function(likeFunction.name, likeFunction.call);
  const columns = Object.entries(fields).map(([name, kind]) => sql`${identifier(name)} ${columnTypes[kind]}`);
  const all = joinSql([sql`"$position" INTEGER PRIMARY KEY`, sql`id TEXT`, ...columns], ', ');
  run(database, sql`CREATE TABLE things (${all}) STRICT`);
  for (const [index, row] of rows.entries()) {
    const values = Object.entries(fields).map(([name, kind]) => sql`${toStored(row[name], kind)}`);
    const stored = joinSql([sql`${index + 1}`, sql`${String(row['id'])}`, ...values], ', ');
    run(database, sql`INSERT INTO things VALUES (${stored})`);
  }
  const resolve: Resolve = (name) => {
    const [head = '', ...path] = name.split('.');
    const kind = head === 'id' ? 'text' : Object.hasOwn(fields, head) ? fields[head] : undefined;
    if (kind === undefined) return undefined;
    const operand: Operand = { sql: identifier(head), kind: kind === 'multiple' ? 'text' : kind };
    if (path.length === 0) return operand;
    if (kind !== 'json') return undefined;
    return { ...operand, path: jsonPath(path) };
  };
  return { database, resolve };
}

function toStored(value: unknown, kind: SpecKind): SqlValue {
  if (value === null || value === undefined) return null;
  if (kind === 'json' || kind === 'multiple') return JSON.stringify(value);
  if (typeof value === 'boolean') return Number(value);
  assert.ok(typeof value === 'string' || typeof value === 'number');
  return value;
}

function run(database: DatabaseSync, statement: Sql): readonly unknown[] {
  return database.prepare(statement.text).all(...statement.values);
}

function select(table: Table, filter: string | undefined, sort?: string): string[] {
  const { resolve, database } = table;
  const dialect = sqliteDialect;
  const where =
    filter === undefined ? sql`TRUE` : compileFilter(parseFilter(filter), { resolve, dialect, now });
  const tieBreaker: Operand = { sql: sql`"$position"`, kind: 'number' };
  const keys = sort === undefined ? [] : parseSort(sort);
  const order = compileSort(sortTerms(keys, { resolve, tieBreaker, dialect }), dialect);
  const rows = run(database, sql`SELECT id FROM things WHERE ${where} ORDER BY ${order}`);
  // The one column that was selected.
  return rows.map((row) => (row as { id: string }).id);
}

function refusalOf(work: () => unknown): AppError {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof AppError, String(error));
    assert.equal(error.code, 'bad_request');
    return error;
  }
  return assert.fail('expected a refusal');
}

function positionOf(error: AppError): unknown {
  const [detail] = Object.values(error.details);
  // filterError and sortError give one FieldError with its position.
  return (detail as { params?: { position?: unknown } } | undefined)?.params?.position;
}

const tables = new Map(
  Object.entries(spec.collections).map(([name, collection]) => [name, buildTable(collection)]),
);

for (const { about, collection, filter, sort, ids, position } of spec.cases) {
  const wanted = ids === undefined ? `is refused at ${position}` : `selects ${ids.join('') || 'nothing'}`;
  const question = JSON.stringify({ filter, sort });
  test(`${question} ${wanted}${about === undefined ? '' : ` (${about})`}`, () => {
    const table = tables.get(collection)!;
    if (ids !== undefined) assert.deepEqual(select(table, filter, sort), ids);
    else assert.equal(positionOf(refusalOf(() => select(table, filter, sort))), position);
  });
}

test('every example of docs/filters.md selects the documented records', () => {
  const page = readFileSync(new URL('../../../docs/filters.md', import.meta.url), 'utf8');
  const table = buildTable(documentedTable(page));
  const examples = [...page.matchAll(/^\| `(.+?)` +\| (filter|sort) +\| (?:`(\w+)`|(nothing)|—) /gm)];
  // Those about relations are asked in test/api/docs-filters.test.ts.
  const asked = page.match(/^\| `.+?` +\| (?:posts|guest) +\|/gm)?.length ?? 0;
  assert.equal(examples.length + asked, page.match(/^\| `/gm)?.length, 'a row of the page is no example');
  for (const [, code = '', what, selectedIds, nothing] of examples) {
    const ids = nothing === undefined ? selectedIds : '';
    const text = code.replaceAll('\\|', '|');
    if (ids === undefined) {
      refusalOf(() => (what === 'sort' ? select(table, undefined, text) : select(table, text)));
      continue;
    }
    const selected = what === 'sort' ? select(table, undefined, text) : select(table, text);
    assert.equal(selected.join(''), ids, text);
  }
});

/** The table of the page: its only block of JSON. */
function documentedTable(page: string): SpecCollection {
  const block = /^```json\n(.*?)^```/ms.exec(page)?.[1];
  assert.ok(block !== undefined, 'the page has no table');
  // Our own page, as our own file above.
  return JSON.parse(block) as SpecCollection;
}

const small: Table = buildTable({
  fields: { title: 'text', other: 'text', price: 'number', data: 'json' },
  rows: [
    { id: 'a', title: 'x', price: 1, data: 'not' },
    { id: 'b', title: 'y', price: 2 },
  ],
});

test('two hundred comparisons in one chain are compiled into a balanced tree', () => {
  const filter = Array.from({ length: 200 }, (_, index) => `price = ${index}`).join(' || ');
  assert.deepEqual(select(small, filter), ['a', 'b']);
  // 1,000 by default; a chain of 200 would be 200 deep.
  const shallow = new DatabaseSync(':memory:', { limits: { exprDepth: 20 } });
  shallow.exec('CREATE TABLE things (price REAL)');
  for (const join of [' || ', ' && ']) {
    const tree = parseFilter(filter.replaceAll(' || ', join));
    run(
      shallow,
      sql`SELECT 1 FROM things WHERE ${compileFilter(tree, { ...small, dialect: sqliteDialect, now })}`,
    );
  }
});

test('what the values of a request decide alone is decided before any row is read', () => {
  const conditionOf = (filter: string): Sql =>
    compileFilter(parseFilter(filter), { ...small, dialect: sqliteDialect, now });
  const decided: readonly (readonly [string, boolean | undefined])[] = [
    ["1 = 1 || title = 'a'", true],
    ["1 = 2 && title = 'a'", false],
    ["1 = 1 && (2 = 2 || title = 'a')", true],
    ["1 = 2 || (2 = 3 && title = 'a')", false],
    ["1 = 1 && title = 'a'", undefined],
    ["1 = 2 || title = 'a'", undefined],
  ];
  for (const [filter, expected] of decided) assert.equal(constantOf(conditionOf(filter)), expected, filter);
  assert.equal(conditionOf("1 = 1 && title = 'a'").text, conditionOf("1 = 2 || title = 'a'").text);
  assert.ok(!conditionOf("1 = 1 && title = 'a'").text.includes('TRUE'), 'a constant is left out');
});

test('no value of a filter becomes text of the statement', () => {
  const filter = `title = "x' OR 1=1 --" || price > 424242 || title ~ 'needle' || data.n = 'needle' || 'needle' = title`;
  const { text, values } = compileFilter(parseFilter(filter), { ...small, dialect: sqliteDialect, now });
  assert.doesNotMatch(text, /needle|424242|OR 1/);
  assert.equal(values.filter((value) => value === 424242 || value === 'needle').length, 3);
  assert.ok(values.includes('%needle%'));
  assert.deepEqual(select(small, filter), []);
});

test('a pattern of 256 bytes is accepted and one of 257 is refused with its position', () => {
  assert.deepEqual(select(small, `title ~ '${'x'.repeat(256)}'`), []);
  const error = refusalOf(() => select(small, `title ~ '${'ü'.repeat(128)}x'`));
  assert.equal(positionOf(error), 8);
  assert.match(error.message, /at most 256 bytes/);
});

test('a pattern from a column matches nothing when it is longer than a client may send', () => {
  const table = buildTable({
    fields: { title: 'text', other: 'text' },
    rows: [
      { id: 'a', title: 'x'.repeat(300), other: 'x'.repeat(256) },
      { id: 'b', title: 'x'.repeat(300), other: 'x'.repeat(257) },
      // Beyond what SQLite itself would take for a pattern: without the guard the query would fail.
      { id: 'c', title: 'x', other: '%'.repeat(60_000) },
    ],
  });
  assert.deepEqual(select(table, 'title ~ other'), ['a']);
  assert.deepEqual(select(table, 'title !~ other'), []);
});

test('text in a json column that is no JSON counts as the text it is', () => {
  small.database.exec(`UPDATE things SET data = 'no json' WHERE id = 'b'`);
  assert.deepEqual(select(small, `data = 'no json'`), ['b']);
  assert.deepEqual(select(small, `data.a = 'no json'`), []);
});

const unsupported: readonly (readonly [filter: string, message: string])[] = [
  ['title:lower = 1', 'Unknown field "title:lower" at position 0.'],
  ['title.name = 1', 'Unknown field "title.name" at position 0.'],
  ['1 = @request.auth.id', 'Unknown macro "@request.auth.id" at position 4.'],
  ['@collection.a.b ?= 1', 'Unknown macro "@collection.a.b" at position 0.'],

  ['nothing(1) < 5', 'Unknown function "nothing" at position 0.'],
  ['@nothing = 1', 'Unknown macro "@nothing" at position 0.'],
  ['secret = 1', 'Unknown field "secret" at position 0.'],
  ['secret.name = 1', 'Unknown field "secret.name" at position 0.'],
  ['secret:lower = 1', 'Unknown field "secret:lower" at position 0.'],
  ['__proto__ = 1', 'Unknown field "__proto__" at position 0.'],
];

for (const [filter, message] of unsupported) {
  test(`${filter} is refused by name: ${message}`, () => {
    const error = refusalOf(() => select(small, filter));
    assert.equal(error.message, message);
    assert.deepEqual(error.details, {
      filter: { code: 'validation_invalid_filter', message, params: { position: positionOf(error) } },
    });
  });
}

test('a guarded operand selects and sorts nothing where its guard does not hold', () => {
  const resolve: Resolve = (name) =>
    name === 'title' ? { sql: sql`title`, kind: 'text', guard: sql`price = ${1}` } : undefined;
  const guarded = { database: small.database, resolve };
  assert.deepEqual(select(guarded, `title != 'q'`), ['a']);
  assert.deepEqual(select(guarded, `title != 'q' || 1 = 1`), ['a', 'b']);
  assert.deepEqual(select(guarded, undefined, '-title'), ['a', 'b']);
  assert.deepEqual(select(guarded, undefined, 'title'), ['b', 'a']);
});

test('a field may be called true, and a macro is never a field', () => {
  const resolve: Resolve = () => ({ sql: sql`price`, kind: 'number' });
  assert.deepEqual(select({ database: small.database, resolve }, 'true = 2'), ['b']);
  assert.deepEqual(select({ database: small.database, resolve }, '@year = 2'), []);
});

test('a random order holds every row once', () => {
  assert.deepEqual(select(small, undefined, '@random').toSorted(), ['a', 'b']);
});
