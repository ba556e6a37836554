// Both engines: a view is a query in the SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

interface Stage {
  readonly service: TestService;
  readonly call: (method: string, path: string, body?: unknown) => Promise<TestAnswer>;
  readonly guest: (method: string, path: string, body?: unknown) => Promise<TestAnswer>;
  readonly author: string;
}

async function setUp(t: TestContext): Promise<Stage> {
  const service = await startService(t);
  const call: Stage['call'] = (method, path, body) =>
    service.request(path, { method, token: true, ...(body !== undefined && { body }) });
  const guest: Stage['guest'] = (method, path, body) =>
    service.request(path, { method, ...(body !== undefined && { body }) });
  const make = async (body: unknown): Promise<string> => {
    const { status, json, text } = await call('POST', '/api/collections', body);
    assert.equal(status, 200, text);
    return json.id;
  };
  const authors = await make({
    name: 'authors',
    fields: [{ name: 'name', type: 'text' }],
    listRule: '',
    viewRule: '',
  });
  await make({
    name: 'posts',
    fields: [
      { name: 'title', type: 'text', required: true },
      { name: 'n', type: 'number' },
      { name: 'isOpen', type: 'bool' },
      { name: 'data', type: 'json' },
      { name: 'tags', type: 'select', values: ['a', 'b'], maxSelect: 2 },
      { name: 'author', type: 'relation', collectionId: authors, maxSelect: 1 },
      { name: 'secret', type: 'text', hidden: true },
    ],
  });
  const { json } = await call('POST', '/api/collections/authors/records', { name: 'Ann' });
  for (const n of [1, 2, 3])
    await call('POST', '/api/collections/posts/records', {
      title: `t${n}`,
      n,
      isOpen: n === 2,
      data: { n },
      tags: ['a'],
      author: n === 3 ? '' : json.id,
      secret: 's',
    });
  return { service, call, guest, author: json.id };
}

const totals = `SELECT a.id, a.name, COUNT(p.id) AS total FROM authors a LEFT JOIN posts p ON p.author = a.id GROUP BY a.id, a.name`;

test('a view is listed, filtered, sorted, expanded and shown as any other collection', async (t) => {
  const { call, guest, author } = await setUp(t);
  const query = `SELECT id, title, n, "isOpen", data, tags, author, secret, n + 1 AS more, CAST(title AS text) AS word, COUNT(*) OVER () AS everything, title AS other FROM posts -- all
    ORDER BY n DESC;`;
  const made = await call('POST', '/api/collections', {
    name: 'shown',
    type: 'view',
    viewQuery: query,
    listRule: '',
    viewRule: 'n < 3',
  });
  assert.equal(made.status, 200, made.text);
  assert.equal(made.json.viewQuery, query);
  assert.deepEqual(namesAndTypes(made.json.fields), [
    'id text',
    'title text',
    'n number',
    'isOpen bool',
    'data json',
    'tags select',
    'author relation',
    'secret text',
    'more json',
    'word text',
    'everything json',
    'other text',
  ]);
  const all = '/api/collections/shown/records';
  const { json: list, status, text } = await guest('GET', all);
  assert.equal(status, 200, text);
  assert.equal(list.totalItems, 3);
  const [first] = list.items;
  assert.deepEqual(valuesOf(list.items, 'n'), [3, 2, 1]);
  assert.deepEqual(
    [first.title, first.isOpen, first.data, first.tags, first.author, first.secret, first.more, first.word],
    ['t3', false, { n: 3 }, ['a'], '', undefined, 4, 't3'],
  );
  const filtered = await guest(
    'GET',
    `${all}?filter=(n<3%26%26author.name='Ann')&sort=title&expand=author&skipTotal=1`,
  );
  assert.equal(filtered.status, 200, filtered.text);
  assert.deepEqual(valuesOf(filtered.json.items, 'title'), ['t1', 't2']);
  assert.equal(filtered.json.items[0].expand.author.name, 'Ann');
  assert.equal(filtered.json.totalItems, -1);
  const [, second] = list.items;
  const one = await guest('GET', `${all}/${second.id}?fields=title,author`);
  assert.deepEqual(one.json, { title: 't2', author });
  assert.equal((await guest('GET', `${all}/${first.id}`)).status, 404);
  assert.equal((await call('GET', `${all}/${first.id}`)).json.secret, 's');
});

test('an aggregate is a view, and another view reads it', async (t) => {
  const { call, guest, author } = await setUp(t);
  assert.equal(
    (await call('POST', '/api/collections', { name: 'totals', type: 'view', viewQuery: totals })).status,
    200,
  );
  const made = await call('POST', '/api/collections', {
    name: 'busy',
    type: 'view',
    viewQuery: 'SELECT t.id, t.total, t.id AS same FROM totals t WHERE t.total > 1',
    viewRule: '',
  });
  assert.equal(made.status, 200, made.text);
  const { json } = await guest('GET', `/api/collections/busy/records/${author}`);
  assert.deepEqual([json.total, json.same], [2, author]);
  const refused = await call('DELETE', '/api/collections/totals');
  assert.equal(refused.status, 400);
  assert.match(refused.json.message, /busy/);
});

test('records of a view cannot be written', async (t) => {
  const { call, guest } = await setUp(t);
  await call('POST', '/api/collections', { name: 'totals', type: 'view', viewQuery: totals });
  const all = '/api/collections/totals/records';
  const { json } = await call('GET', all);
  const one = `${all}/${json.items[0].id}`;
  for (const ask of [call, guest])
    for (const [method, path, body] of [
      ['POST', all, { name: 'x' }],
      ['PATCH', one, { name: 'x' }],
      ['DELETE', one, undefined],
    ] as const) {
      const { status, json: error } = await ask(method, path, body);
      assert.deepEqual([status, error.message], [400, 'Unsupported collection type.']);
    }
  const { status, json: error } = await call('DELETE', '/api/collections/totals/truncate');
  assert.equal(status, 400);
  assert.match(error.message, /cannot be truncated/);
});

test('a definition of a view is refused with a code for each problem', async (t) => {
  const { call } = await setUp(t);
  const refusals: readonly (readonly [members: object, member: string, code: string])[] = [
    [{ viewQuery: undefined }, 'viewQuery', 'validation_required'],
    [{ viewQuery: 'SELECT title FROM posts' }, 'viewQuery', 'validation_invalid_view_query'],
    [{ viewQuery: 'SELECT id, nope FROM posts' }, 'viewQuery', 'validation_invalid_view_query'],
    [{ viewQuery: "SELECT 'a' AS id FROM posts" }, 'viewQuery', 'validation_invalid_view_query'],
    [{ viewQuery: 'SELECT author AS id FROM posts' }, 'viewQuery', 'validation_invalid_view_query'],
    [{ viewQuery: 'SELECT * FROM posts' }, 'viewQuery', 'validation_invalid_view_query'],
    [{ viewQuery: 'SELECT id, title, title FROM posts' }, 'viewQuery', 'validation_invalid_view_query'],
    [{ viewQuery: 'SELECT id, title AS expand FROM posts' }, 'viewQuery', 'validation_invalid_view_query'],
    [
      { viewQuery: `SELECT id FROM posts -- ${'x'.repeat(5_000)}` },
      'viewQuery',
      'validation_length_too_long',
    ],
    [{ createRule: '' }, 'createRule', 'validation_nil'],
    [{ updateRule: 'id = 1' }, 'updateRule', 'validation_nil'],
    [{ deleteRule: '' }, 'deleteRule', 'validation_nil'],
    [{ indexes: ['CREATE INDEX a ON b (c)'] }, 'indexes', 'validation_indexes_not_supported'],
    [{ listRule: 'nope = 1' }, 'listRule', 'validation_invalid_rule'],
  ];
  for (const [members, member, code] of refusals) {
    const body = { name: 'refused', type: 'view', viewQuery: 'SELECT id, title FROM posts', ...members };
    const { status, json } = await call('POST', '/api/collections', body);
    assert.deepEqual([status, json.data?.[member]?.code], [400, code], JSON.stringify([members, json]));
  }
  const made = await call('POST', '/api/collections', {
    name: 'v',
    type: 'view',
    viewQuery: 'SELECT id FROM posts',
  });
  const relation = { name: 'rel', type: 'relation', collectionId: made.json.id, maxSelect: 1 };
  const { json } = await call('POST', '/api/collections', { name: 'r', fields: [relation] });
  assert.equal(json.data.fields[1].collectionId.code, 'validation_relation_field_non_view_base_collection');
});

test('a dry run returns fields and a sample, or why the query is refused', async (t) => {
  const { call } = await setUp(t);
  const run = (query: unknown): Promise<TestAnswer> =>
    call('POST', '/api/collections/meta/dry-run-view', { query });
  const { status, json, text } = await run(totals);
  assert.equal(status, 200, text);
  assert.deepEqual(valuesOf(json.fields, 'name'), ['id', 'name', 'total']);
  assert.deepEqual([json.sample.length, json.sample[0].name, json.sample[0].total], [1, 'Ann', 2]);
  assert.match(json.sample[0].collectionName, /^temp_view_/);
  const refused = await run('SELECT id FROM nowhere');
  assert.equal(refused.status, 400);
  assert.match(refused.json.message, /^Invalid view query\. Raw error: \n/);
  assert.equal((await run('')).json.data.query.code, 'validation_required');
  assert.equal((await run('x'.repeat(5_001))).json.data.query.code, 'validation_length_too_long');
});

type Members = Readonly<Record<string, unknown>>;

function valuesOf(list: readonly Members[], name: string): readonly unknown[] {
  return list.map((item) => item[name]);
}

function namesAndTypes(fields: readonly Members[]): readonly string[] {
  return fields.map(({ name, type }) => `${String(name)} ${String(type)}`);
}
