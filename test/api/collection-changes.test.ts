// Both engines: definitions change tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CollectionNames } from '../../src/collections/collection-names.ts';
import { decodeCollection } from '../../src/collections/decode-collection.ts';
import { ProblemList } from '../../src/collections/member-reader.ts';
import { sql } from '../../src/sql/sql.ts';
import { CollectionStage } from '../support/collection-stage.ts';
import type { TestAnswer } from '../support/service.ts';

const path = '/api/collections';

interface Field {
  readonly id?: string;
  readonly name: string;
  readonly type?: string;
}

function fieldsOf(answer: TestAnswer): readonly Field[] {
  return answer.json.fields;
}

function itemsOf(answer: TestAnswer): readonly Readonly<Record<string, unknown>>[] {
  return answer.json.items;
}

test('a renamed collection keeps its records, indexes and id, also when only the case of its name changes', async (t) => {
  const stage = await CollectionStage.start(t);
  const { json: made } = await stage.create({
    name: 'posts',
    fields: [{ name: 'a', type: 'text' }],
    indexes: ['CREATE UNIQUE INDEX one ON posts (a)'],
  });
  await stage.add('posts', { a: 'x' });
  for (const [from, to] of [
    ['posts', 'Posts'],
    ['Posts', 'articles'],
    ['articles', 'posts'],
  ] as const) {
    const renamed = await stage.change(from, { name: to });
    assert.deepEqual(
      [renamed.json.id, renamed.json.name, renamed.json.indexes],
      [made.id, to, [`CREATE UNIQUE INDEX \`one\` ON \`${to}\` (\`a\`)`]],
    );
    const listed = await stage.records(to);
    assert.deepEqual([listed.json.totalItems, listed.json.items[0].collectionName], [1, to]);
    assert.equal((await stage.add(to, { a: 'x' })).json.data.a.code, 'validation_not_unique');
  }
  assert.equal((await stage.records('articles')).status, 404);
});

test('renamed fields keep their data: in another case, swapped, in a ring, and with ids that differ only in case', async (t) => {
  const stage = await CollectionStage.start(t);
  const names = ['a', 'b', 'c'];
  const ids = ['F', 'f', 'x"y\n'];
  const named = (order: readonly string[]): readonly object[] =>
    order.map((name, at) => ({ id: ids[at], name, type: 'text' }));
  await stage.create({
    name: 'posts',
    fields: named(names),
    indexes: ['CREATE INDEX ab ON posts (a, b DESC)'],
  });
  await stage.add('posts', { a: '1', b: '2', c: '3' });
  for (const order of [
    ['b', 'a', 'c'],
    ['c', 'b', 'a'],
    ['C', 'B', 'A'],
    ['a', 'b', 'c'],
    ['d', 'a', 'b'],
  ]) {
    const changed = await stage.change('posts', { fields: named(order) });
    assert.equal(changed.status, 200, changed.text);
    assert.deepEqual(changed.json.indexes, [
      `CREATE INDEX \`ab\` ON \`posts\` (\`${order[0]}\`, \`${order[1]}\` DESC)`,
    ]);
    const { json } = await stage.records('posts', `fields=${order.join(',')}`);
    assert.deepEqual(json.items, [{ [order[0]!]: '1', [order[1]!]: '2', [order[2]!]: '3' }]);
  }
});

test('a dropped field goes with its data and its indexes; what a definition must have stays', async (t) => {
  const stage = await CollectionStage.start(t);
  const [a, b] = [
    { name: 'a', type: 'text' },
    { name: 'b', type: 'number' },
  ];
  await stage.create({
    name: 'posts',
    fields: [a, b],
    indexes: [
      'CREATE INDEX on_a ON posts (a)',
      'CREATE INDEX on_b ON posts (b)',
      "CREATE INDEX partial ON posts (b) WHERE a = ''",
    ],
  });
  const { json: record } = await stage.add('posts', { a: 'x', b: 5 });
  const dropped = await stage.change('posts', { fields: [b] });
  assert.deepEqual(
    fieldsOf(dropped).map(({ name }) => name),
    ['id', 'b', 'created', 'updated'],
  );
  assert.deepEqual(dropped.json.indexes, ['CREATE INDEX `on_b` ON `posts` (`b`)']);
  const { json: added } = await stage.change('posts', { fields: [b, a] });
  assert.equal(added.fields.length, 5);
  const { json } = await stage.records('posts');
  assert.deepEqual(json.items, [{ ...record, a: '' }]);
  const [, stored] = fieldsOf(dropped);
  const bool = { id: stored?.id, name: 'b', type: 'bool' };
  const changed = await stage.change('posts', { fields: [bool] });
  assert.equal(changed.json.data.fields['1'].type.code, 'validation_field_type_change');
});

test('A5 created and updated are added where a definition leaves them out, and left alone where it has others', async (t) => {
  const stage = await CollectionStage.start(t);
  await stage.create({ name: 'plain' });
  assert.deepEqual(
    fieldsOf(await stage.view('plain')).map(({ name }) => name),
    ['id', 'created', 'updated'],
  );
  await stage.create({ name: 'own', fields: [{ name: 'updated', type: 'date' }] });
  const fields = fieldsOf(await stage.view('own'));
  assert.deepEqual(
    fields.map(({ name, type }) => `${name} ${type}`),
    ['id text', 'updated date', 'created autodate'],
  );
  const kept = await stage.change('own', { fields: [] });
  assert.deepEqual(
    fieldsOf(kept).map(({ name, type }) => `${name} ${type}`),
    ['id text', 'created autodate', 'updated date'],
  );
});

test('a field called `updated` that is no autodate does not set the time of events', async (t) => {
  const stage = await CollectionStage.start(t);
  await stage.create({
    name: 'own',
    fields: [
      { name: 'updated', type: 'date' },
      { name: 'a', type: 'text' },
    ],
  });
  const { json: record } = await stage.add('own', { updated: '9999-12-31 00:00:00.000Z' });
  await stage.service.request(`${path}/own/records/${record.id}`, {
    method: 'PATCH',
    token: true,
    body: { a: 'x' },
  });
  await stage.service.request(`${path}/own/records/${record.id}`, { method: 'DELETE', token: true });
  const times = await stage.service.withInstance('default', ({ database }) =>
    database.all(sql`SELECT created FROM ${database.names.table('$event')} ORDER BY position`),
  );
  assert.equal(times.length, 3);
  for (const { created } of times) assert.match(String(created), /^20/);
});

test('a select that becomes multiple, and single again, keeps what was chosen', async (t) => {
  const stage = await CollectionStage.start(t);
  const tags = (maxSelect: number, name = 'tags'): object => ({
    fields: [{ id: 'tags', name, type: 'select', values: ['a', 'b', "it's"], maxSelect }],
  });
  await stage.create({ name: 'posts', ...tags(1), indexes: ['CREATE INDEX on_tags ON posts (tags)'] });
  for (const value of ['', 'a', "it's"]) await stage.add('posts', { tags: value });
  const shown = async (): Promise<unknown> =>
    itemsOf(await stage.records('posts')).map((item) => item['tags'] ?? item['Tags']);
  assert.equal((await stage.change('posts', tags(3))).status, 200);
  assert.deepEqual(await shown(), [[], ['a'], ["it's"]]);
  await stage.add('posts', { tags: ['a', 'b'] });
  assert.equal((await stage.change('posts', tags(1, 'Tags'))).status, 200);
  assert.deepEqual(await shown(), ['', 'a', "it's", 'b']);
});

test('S-11 a unique index over equal values is refused, and nothing of the change is kept', async (t) => {
  const stage = await CollectionStage.start(t);
  await stage.create({ name: 'posts', fields: [{ name: 'a', type: 'text' }] });
  for (const a of ['x', 'x']) await stage.add('posts', { a });
  const before = await stage.view('posts');
  const refused = await stage.change('posts', {
    name: 'renamed',
    listRule: '',
    fields: [
      { name: 'b', type: 'text' },
      { name: 'a', type: 'text' },
    ],
    indexes: ['CREATE INDEX two ON posts (b)', 'CREATE UNIQUE INDEX one ON posts (a)'],
  });
  assert.equal(refused.status, 400);
  const message =
    'The unique index one of renamed cannot be made: records that exist already have equal values.';
  assert.deepEqual(refused.json.data, {
    indexes: { 1: { code: 'validation_invalid_index_expression', message } },
  });
  assert.equal((await stage.view('posts')).text, before.text);
  assert.deepEqual((await stage.records('posts', 'fields=a')).json.items, [{ a: 'x' }, { a: 'x' }]);
  assert.equal((await stage.records('renamed')).status, 404);
  assert.equal(
    (await stage.change('posts', { indexes: ["CREATE UNIQUE INDEX one ON posts (a) WHERE a != 'x'"] }))
      .status,
    200,
  );
});

test('what the service itself needs of its collections cannot be taken away', async (t) => {
  const stage = await CollectionStage.start(t);
  const { service } = stage;
  const email = 'CREATE UNIQUE INDEX `mail` ON `_superusers` (`email`)';
  const refused: readonly (readonly [object, string, RegExp])[] = [
    [{ name: 'other' }, 'name', /system_name_change/],
    [{ type: 'base' }, 'type', /type_change/],
    [{ listRule: '' }, 'listRule', /system_rule_change/],
    [{ fields: [{ id: 'new', name: 'email', type: 'text' }] }, 'fields', /system_field_change/],
    [{ fields: [{ id: 'new', name: 'EMAIL', type: 'text' }] }, 'fields', /system_field_change/],
    [{ fields: [{ id: 'email3885137012', name: 'mail', type: 'email' }] }, 'fields', /system_field_change/],
    [{ fields: [{ id: 'email3885137012', name: 'email', type: 'text' }] }, 'fields', /field_type_change/],
    [
      { fields: [{ id: 'new', name: 'id', type: 'text', primaryKey: true, required: true, pattern: 'a' }] },
      'fields',
      /system_field_change/,
    ],
  ];
  for (const [body, member, code] of refused) {
    const answer = await stage.change('_superusers', body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.match(JSON.stringify(answer.json.data[member]), code);
  }
  for (const indexes of [[], [`${email} WHERE email = 'x'`], [email.replace('UNIQUE ', '')]]) {
    const { status, json } = await stage.change('_superusers', { indexes });
    assert.equal(status, 200, JSON.stringify(indexes));
    assert.match(
      String(json.indexes),
      /CREATE UNIQUE INDEX `idx_email_\w+` ON `_superusers` \(`email`\) WHERE `email` != ''/,
    );
  }
  const deleted = await service.request(`${path}/_superusers`, { method: 'DELETE', token: true });
  assert.deepEqual([deleted.status, deleted.json.message], [400, 'Failed to delete collection.']);
  // Fields of one's own may be added; leaving out the system's does not drop them.
  assert.equal(
    (await stage.change('_superusers', { fields: [{ name: 'note', type: 'text' }], indexes: [email] }))
      .status,
    200,
  );
  const { email: identity, password } = service.superuser;
  assert.equal(
    (
      await service.request(`${path}/_superusers/auth-with-password`, {
        method: 'POST',
        body: { identity, password },
      })
    ).status,
    200,
  );
  for (const [method, at] of [
    ['POST', ''],
    ['PATCH', '/nope'],
    ['DELETE', '/nope'],
  ] as const) {
    const answer = await service.request(`${path}/_superusers/records${at}`, {
      method,
      token: true,
      body: {},
    });
    assert.equal(answer.status, method === 'POST' ? 400 : 404);
  }
});

test('the id of a collection is its key, whatever its definition leaves out, and cannot be replaced', async (t) => {
  const stage = await CollectionStage.start(t);
  await stage.create({ name: 'posts' });
  const key = { name: 'id', type: 'text', primaryKey: true, required: true, pattern: '^[a-z]+$' };
  const replaced = await stage.change('posts', { fields: [{ ...key, id: 'new' }] });
  assert.equal(replaced.json.data.fields['0'].name.code, 'validation_system_field_change');
  const { json: short } = await stage.create({
    name: 'short',
    fields: [{ name: 'id', type: 'text', max: 5 }],
  });
  const [id] = short.fields;
  assert.deepEqual([id.primaryKey, id.required, id.pattern], [true, true, '^[a-z0-9]+$']);
  assert.equal((await stage.change('posts', { fields: [key] })).status, 200);
  assert.equal((await stage.add('posts', { id: 'short' })).status, 201);
  assert.equal((await stage.add('posts', { id: '' })).status, 400);
});

test('A20 S-05 S-06 at most 500 fields, 50 indexes and 1,000 collections; what was shown can be sent back', async (t) => {
  const stage = await CollectionStage.start(t);
  const many = (count: number): readonly object[] =>
    Array.from({ length: count }, (_, at) => ({ name: `f${at}`, type: 'text' }));
  assert.equal(
    (await stage.create({ name: 'wide', fields: many(498) })).json.data.fields.code,
    'validation_length_too_long',
  );
  assert.equal(
    (await stage.create({ name: 'wide', fields: many(10_000) })).json.data.fields.code,
    'validation_length_too_long',
  );
  assert.equal((await stage.create({ name: 'wide', fields: many(497) })).status, 200);
  const fields = fieldsOf(await stage.view('wide'));
  assert.equal(fields.length, 500);
  assert.equal((await stage.change('wide', { fields })).status, 200);
  assert.equal((await stage.add('wide', { f0: 'a', f496: 'z' })).json.f496, 'z');
  const indexes = Array.from({ length: 51 }, (_, at) => `CREATE INDEX i${at} ON wide (f${at})`);
  assert.equal(
    (await stage.change('wide', { indexes })).json.data.indexes.code,
    'validation_length_too_long',
  );
  assert.equal((await stage.change('wide', { indexes: indexes.slice(1) })).status, 200);
  // Past HTTP and many in one transaction, as a thousand synced commits would take long, and all in one longer than a transaction may.
  await stage.service.withInstance('default', async ({ database, collections }) => {
    const context = { names: new CollectionNames([]), now: '2026-01-01 00:00:00.000Z' };
    const createUntil = (count: number): Promise<void> =>
      database.write(
        async (tx) => {
          for (let at = collections.all().length; at < count; at += 1)
            await collections.create(tx, decodeCollection({ name: `c${at}` }, context, new ProblemList()));
        },
        { isExclusive: true },
      );
    for (let count = 100; count < 999; count += 100) await createUntil(count);
    await createUntil(999);
  });
  assert.equal((await stage.create({ name: 'last' })).status, 200);
  const refused = await stage.create({ name: 'one_more' });
  assert.deepEqual(
    [refused.status, refused.json.message],
    [400, 'Failed to create collection. There can be at most 1000 collections.'],
  );
});

test('changes of a definition among requests for its records lose no record and break no answer', async (t) => {
  const stage = await CollectionStage.start(t);
  const { service } = stage;
  const a = { id: 'a', name: 'a', type: 'text' };
  const { json: collection } = await stage.create({ name: 'posts', fields: [a] });
  const at = `${path}/${collection.id}/records`;
  const over = new AbortController();
  const statuses = new Map<string, number>();
  const created: string[] = [];
  const client = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const made = await service.request(at, { method: 'POST', token: true, body: { a: 'x', b: 'y' } });
      if (made.status === 201) created.push(made.json.id);
      const listed = await service.request(`${at}?filter=a='x'&sort=-a`, { token: true });
      const changed = await service.request(`${at}/${made.json.id}`, {
        method: 'PATCH',
        token: true,
        body: { a: 'z' },
      });
      for (const { status } of [made, listed, changed])
        statuses.set(String(status), (statuses.get(String(status)) ?? 0) + 1);
    }
  };
  const clients = Array.from({ length: 6 }, client);
  for (let round = 0; round < 12; round += 1) {
    const name = round % 2 === 0 ? 'renamed' : 'posts';
    const fields = round % 3 === 0 ? [{ ...a, name: 'b' }] : [a, { name: 'extra', type: 'number' }];
    const indexes = [`CREATE INDEX on_it ON posts (${round % 3 === 0 ? 'b' : 'a'})`];
    assert.equal(
      (
        await service.request(`${path}/${collection.id}`, {
          method: 'PATCH',
          token: true,
          body: { name, fields, indexes },
        })
      ).status,
      200,
    );
  }
  over.abort();
  await Promise.all(clients);
  // 400: the filter asks for a field that is called otherwise at that moment.
  assert.deepEqual(
    [...statuses.keys()].filter((status) => !['200', '201', '400'].includes(status)),
    [],
  );
  const page = await service.request(`${at}?fields=id&perPage=1000`, { token: true });
  const items: readonly { readonly id: string }[] = page.json.items;
  assert.deepEqual(new Set(items.map(({ id }) => id)), new Set(created));
});
