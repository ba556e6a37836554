// Both engines: names are those of tables and columns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertReopens } from '../support/assert-reopens.ts';
import { isJsonObject } from '../../src/base/json.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const path = '/api/collections';

function create(service: TestService, body: unknown): Promise<TestAnswer> {
  return service.request(path, { method: 'POST', token: true, body });
}

function text(name: string, more: object = {}): object {
  return { name, type: 'text', ...more };
}

const names: readonly (readonly [unknown, string | undefined])[] = [
  ...[
    'select',
    'order',
    'group',
    'table',
    'limit',
    'rowid',
    'oid',
    '_rowid_',
    'user',
    'index',
    'null',
    'true',
    'constructor',
    '__proto__',
    'toString',
    'auth',
    'meta',
    'import',
    '1',
    '_x',
    // What PostgreSQL itself calls the keys of the table `first`.
    'first_pkey',
    'first_id_key',
    'a'.repeat(255),
  ].map((name) => [name, undefined] as const),
  ...[
    'é',
    'а',
    'a b',
    'a.b',
    'a-b',
    'a/b',
    '..',
    '$event',
    '$collection',
    'a\n',
    '"a"',
    'a`b',
    '😀',
    'a\u0301',
  ].map((name) => [name, 'validation_match_invalid'] as const),
  ...['', 5, null, {}, [], true].map((name) => [name, 'validation_required'] as const),
  ['a'.repeat(256), 'validation_length_out_of_range'],
  ['a_via_b', 'validation_found_via'],
  ['A_VIA_B', 'validation_found_via'],
  ['sqlite_x', 'validation_collection_name_invalid'],
  ['SQLite_sequence', 'validation_collection_name_invalid'],
  ['_superusers', 'validation_collection_name_exists'],
  ['_SuperUsers', 'validation_collection_name_exists'],
  ['first', 'validation_collection_name_exists'],
  ['FIRST', 'validation_collection_name_exists'],
  ['MyId', 'validation_collection_name_id_duplicate'],
  ['myid', 'validation_collection_name_id_duplicate'],
  ['pbc_3142635823', 'validation_collection_name_id_duplicate'],
  ['first_a', 'validation_collection_name_invalid'],
  ['FIRST_A', 'validation_collection_name_invalid'],
];

test('S-01 S-03 S-16 a name is free or refused with its reason, at creation and on a rename', async (t) => {
  const service = await startService(t);
  await create(service, {
    name: 'first',
    id: 'MyId',
    fields: [text('a')],
    indexes: ['CREATE INDEX first_a ON first (a)'],
  });
  await create(service, { name: 'renamed', id: 'target' });
  for (const [name, code] of names) {
    const renamed = await service.request(`${path}/target`, {
      method: 'PATCH',
      token: true,
      body: { name },
    });
    assert.equal(renamed.status, code === undefined ? 200 : 400, `${String(name)}: ${renamed.text}`);
    assert.equal(renamed.json.data?.name?.code, code, `rename to ${String(name)}`);
    if (code === undefined)
      await service.request(`${path}/target`, {
        method: 'PATCH',
        token: true,
        body: { name: 'renamed' },
      });
    const made = await create(service, { name });
    assert.equal(made.status, code === undefined ? 200 : 400, `${String(name)}: ${made.text}`);
    assert.equal(made.json.data?.name?.code, code, String(name));
    if (code !== undefined) continue;
    const record = await service.request(`${path}/${String(name)}/records`, {
      method: 'POST',
      token: true,
      body: {},
    });
    assert.equal(record.status, 201, String(name));
  }
  await assertReopens(t, service);
});

/** Field definitions, and the code of the refusal by member; undefined for one that is taken. */
const fields: readonly (readonly [string, unknown, string, string | undefined])[] = [
  ...[
    'rowid',
    'oid',
    'ROWID',
    'select',
    'order',
    'from',
    'position',
    'revision',
    'CollectionId',
    'a'.repeat(100),
  ].map((name) => [name, text(name), 'name', undefined] as const),
  ...['_rowid_', 'NULL', 'true', 'False', 'collectionId', 'collectionName', 'expand'].map(
    (name) => [name, text(name), 'name', 'validation_not_in_invalid'] as const,
  ),
  ...['é', 'a b', '$position', 'a.b', '"', 'a\n'].map(
    (name) => [name, text(name), 'name', 'validation_match_invalid'] as const,
  ),
  ...['ID', 'Id', 'CREATED', 'Updated'].map(
    (name) => [name, text(name), 'name', 'validation_reserved_field_name'] as const,
  ),
  ['a_via_b', text('a_via_b'), 'name', 'validation_found_via'],
  ['no name', text(''), 'name', 'validation_required'],
  ['101 characters', text('a'.repeat(101)), 'name', 'validation_length_out_of_range'],
  ['an id that is a number', { name: 'id', type: 'number' }, 'name', 'validation_reserved_field_name'],
  ['id', text('id'), 'primaryKey', undefined],
  ['a hidden id', text('id', { hidden: true }), 'hidden', 'validation_empty'],
  [
    'another primary key',
    text('a', { primaryKey: true, required: true, pattern: 'a' }),
    'name',
    'validation_in_invalid',
  ],
  ['no type', { name: 'a' }, 'type', 'validation_required'],
  ['an unknown type', { name: 'a', type: 'nope' }, 'type', 'validation_in_invalid'],
  ['an inherited type', { name: 'a', type: 'constructor' }, 'type', 'validation_in_invalid'],
  ['null', null, 'type', 'validation_invalid_value'],
  ['an array', [], 'type', 'validation_invalid_value'],
  [
    'S-15 a pattern that could take for ever',
    text('a', { pattern: '(a+)+\\1' }),
    'pattern',
    'validation_invalid_regex',
  ],
  ['a select without values', { name: 'a', type: 'select' }, 'values', 'validation_required'],
];

test('S-01 S-03 S-15 a field is taken, and then takes records, or refused by member', async (t) => {
  const service = await startService(t);
  for (const [index, [what, field, member, code]] of fields.entries()) {
    const name = `c${index}`;
    const made = await create(service, { name, fields: [field] });
    assert.equal(made.status, code === undefined ? 200 : 400, `${what}: ${made.text}`);
    // An `id` that the definition leaves out is the first field.
    const at = isJsonObject(field) && field['name'] === 'id' ? '0' : '1';
    assert.equal(made.json.data?.fields?.[at]?.[member]?.code, code, `${what}: ${made.text}`);
    if (code !== undefined) continue;
    const record = await service.request(`${path}/${name}/records`, {
      method: 'POST',
      token: true,
      body: { [what]: 'x' },
    });
    assert.equal(record.json[what], 'x');
    const found = await service.request(`${path}/${name}/records?filter=${what}='x'&sort=-${what}`, {
      token: true,
    });
    assert.equal(found.json.totalItems, 1, found.text);
  }
  const twice = await create(service, {
    name: 'twice',
    fields: [text('a'), text('A'), text('b', { id: 'same' }), text('c', { id: 'same' })],
  });
  assert.equal(twice.json.data.fields['2'].name.code, 'validation_duplicated_field_name');
  assert.deepEqual(twice.json.data.fields['2'].name.params, { fieldName: 'A' });
  assert.equal(twice.json.data.fields['4'].id.code, 'validation_duplicated_field_id');
  assert.equal(
    (await create(service, { name: 'twice', fields: {} })).json.data.fields.code,
    'validation_length_too_long',
  );
  await assertReopens(t, service);
});

const base = 'CREATE INDEX i ON c (n)';
const indexes: readonly (readonly [string, unknown, boolean])[] = [
  ['plain', base, true],
  [
    'without a table of this name',
    'create unique index if not exists [i] on "other" (`n` collate nocase desc, id asc);',
    true,
  ],
  ['partial', "CREATE UNIQUE INDEX i ON c (a) WHERE a != '' AND n >= -1.5", true],
  ['a text with quotes', "CREATE INDEX i ON c (a) WHERE a = 'it''s'", true],
  ['a name of 1,900 characters', `CREATE INDEX ${'i'.repeat(1_900)} ON c (n)`, true],
  ['a column twice', 'CREATE INDEX i ON c (n, n)', true],
  ['a number printed with an exponent', `${base} WHERE n > ${'9'.repeat(22)}`, false],
  ['a small number printed with an exponent', `${base} WHERE n > 0.0000001`, false],
  ['a number beyond all numbers', `${base} WHERE n > ${'9'.repeat(400)}`, false],
  ['more than 2,000 characters', `CREATE INDEX ${'i'.repeat(2_000)} ON c (n)`, false],
  ['an unknown field', 'CREATE INDEX i ON c (nope)', false],
  ['a hidden column', 'CREATE INDEX i ON c ("$position")', false],
  ['an expression', 'CREATE INDEX i ON c (lower(a))', false],
  ['a sub-query', 'CREATE INDEX i ON c (a) WHERE a = (SELECT 1)', false],
  ['another statement', `${base}; DROP TABLE c`, false],
  ['a comment', `${base} -- x`, false],
  ['no column', 'CREATE INDEX i ON c ()', false],
  ['17 columns', `CREATE INDEX i ON c (${Array.from({ length: 17 }, () => 'n').join(', ')})`, false],
  ['the name of a table', 'CREATE INDEX c ON c (n)', false],
  ['the name of another table', 'CREATE INDEX _superusers ON c (n)', false],
  ['a name of the engine', 'CREATE INDEX sqlite_i ON c (n)', false],
  ['the name of another index', 'CREATE INDEX idx_email_pbc_3142635823 ON c (n)', false],
  ['null', null, false],
  ['a number', 5, false],
];

test('an index is taken apart and put together again, or refused; no text of a client reaches the database', async (t) => {
  const service = await startService(t);
  const definition = { name: 'c', fields: [text('a'), { name: 'n', type: 'number' }] };
  await create(service, definition);
  for (const [what, index, isTaken] of indexes) {
    const changed = await service.request(`${path}/c`, {
      method: 'PATCH',
      token: true,
      body: { indexes: [index] },
    });
    assert.equal(changed.status, isTaken ? 200 : 400, `${what}: ${changed.text}`);
    if (isTaken) assert.match(changed.json.indexes[0], /^CREATE (UNIQUE )?INDEX `i+` ON `c` \(`/, what);
    else assert.match(changed.json.data.indexes['0'].code, /index/, what);
  }
  const twice = await service.request(`${path}/c`, {
    method: 'PATCH',
    token: true,
    body: { indexes: [base, base.replace('INDEX i', 'INDEX I')] },
  });
  assert.equal(twice.json.data.indexes['1'].code, 'validation_duplicated_index_name');
  const alike = await service.request(`${path}/c`, {
    method: 'PATCH',
    token: true,
    body: {
      indexes: [
        base,
        'create index j on "x" ([n] collate binary ASC);',
        base.replace('INDEX i', 'INDEX k').replace('(n)', '(n DESC)'),
      ],
    },
  });
  assert.deepEqual(Object.keys(alike.json.data.indexes), ['1']);
  assert.equal(alike.json.data.indexes['1'].code, 'validation_duplicated_index_definition');
  const long = `CREATE INDEX ${'i'.repeat(1_900)} ON c (n)`;
  const renamed = await service.request(`${path}/c`, {
    method: 'PATCH',
    token: true,
    body: { name: 'c'.repeat(255), indexes: [long] },
  });
  assert.equal(renamed.status, 200);
  await assertReopens(t, service);
});

test('the name of a renamed collection can be used again: the new one gets the next free id', async (t) => {
  const service = await startService(t);
  const rename = (name: string, to: string): Promise<TestAnswer> =>
    service.request(`${path}/${name}`, { method: 'PATCH', token: true, body: { name: to } });
  const importAll = (collections: readonly object[]): Promise<TestAnswer> =>
    service.request(`${path}/import`, { method: 'PUT', token: true, body: { collections } });
  const first = (await create(service, { name: 'posts', fields: [text('title')] })).json;
  const records = '/api/collections/posts/records';
  const write = () => service.request(records, { method: 'POST', token: true, body: { title: 'a' } });
  assert.equal((await write()).status, 201);
  assert.equal((await rename('posts', 'articles')).status, 200);
  const second = await create(service, { name: 'posts', fields: [text('title')] });
  assert.equal(second.status, 200, second.text);
  assert.notEqual(second.json.id, first.id);
  assert.equal((await service.request(records, { token: true })).json.totalItems, 0);
  assert.equal((await write()).status, 201);
  assert.equal((await create(service, { name: 'other', id: first.id })).status, 400, 'an id that is given');

  assert.equal((await rename('posts', 'posts2')).status, 200);
  assert.equal((await importAll([{ name: 'posts', fields: [text('title')] }])).status, 204);
  assert.equal((await rename('posts', 'posts3')).status, 200);
  // Two that are made at once, of which the second begins with the id that the first has to take.
  assert.equal((await importAll([{ name: 'posts' }, { name: 'POSTS4' }])).status, 204);
  const { json } = await service.request(`${path}?perPage=1000&filter=system=false`, { token: true });
  const items: readonly { readonly id: string; readonly name: string }[] = json.items;
  assert.deepEqual(
    items
      .map(({ name }) => name)
      .filter((name) => /posts|articles/i.test(name))
      .toSorted(),
    ['POSTS4', 'articles', 'posts', 'posts2', 'posts3'],
  );
  assert.equal(new Set(items.map(({ id }) => id)).size, items.length);
  await assertReopens(t, service);
});
