// Both engines: each ends statements in its own way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { startService } from '../support/service.ts';

/** Enough rows that no machine goes through their pairs in the time that is given. */
const rowsMax = 20_000;

test('A15 Q-38 a question that takes too long is ended and answered 503, and everybody else is served', async (t) => {
  const service = await startService(t, { flags: { 'query-timeout': '0.2' } });
  const rules = { listRule: '', viewRule: '', createRule: '' };
  const body = { name: 'posts', ...rules, fields: [{ name: 'title', type: 'text' }] };
  assert.equal(
    (await service.request('/api/collections', { method: 'POST', token: true, body })).status,
    200,
  );
  const { id } = (await service.request('/api/records/posts', { method: 'POST', body: { title: 'x' } })).json;
  await service.withInstance('default', async ({ database }) => {
    const table = database.names.collectionTable('posts');
    const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rowsMax})`;
    await database.write((tx) =>
      tx.run(sql`INSERT INTO ${table} (id, title, created, updated, "$revision")
        ${numbers} SELECT 'row' || n, 'title ' || n, '', '', 1 FROM n`),
    );
  });
  const list = (filter: string, token: true | null = true): ReturnType<typeof service.request> =>
    service.request(`/api/records/posts?filter=${encodeURIComponent(filter)}`, token ? { token } : {});
  // Each row asks all others, and no index can answer.
  const pairs = "@collection.posts.title ?~ 'none' || @collection.posts:b.title ~ title";
  const slow = await list(pairs);
  assert.deepEqual(
    [slow.status, slow.json, slow.headers.get('retry-after')],
    [503, { data: {}, message: 'The query took too long.', status: 503 }, '1'],
  );
  assert.equal((await list("title = 'title 7'", null)).json.totalItems, 1);
  assert.equal((await service.request(`/api/records/posts/${id}`)).status, 200);
  assert.equal((await service.request('/api/records/posts', { method: 'POST', body: {} })).status, 201);
});

test('A15 expand has as much time as a list, and finds many related records in it without an index', async (t) => {
  // Enough for what an expand needs, also on a busy machine; what is slow below would take minutes.
  const service = await startService(t, { flags: { 'query-timeout': '5' } });
  const make = async (body: object): Promise<string> => {
    const made = await service.request('/api/collections', { method: 'POST', token: true, body });
    assert.equal(made.status, 200, made.text);
    return String(made.json.id);
  };
  const rules = { listRule: '', viewRule: '' };
  const posts = await make({ name: 'posts', ...rules });
  const post = { name: 'post', type: 'relation', collectionId: posts };
  const text = (name: string): object => ({ name, type: 'text' });
  await make({ name: 'comments', ...rules, fields: [post, text('note'), text('word')] });
  await service.withInstance('default', async ({ database }) => {
    const { names } = database;
    const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rowsMax})`;
    await database.write(async (tx) => {
      await tx.run(sql`INSERT INTO ${names.collectionTable('posts')} (id, created, updated, "$revision")
        ${numbers} SELECT 'post' || n, '', '', 1 FROM n WHERE n <= 1000`);
      await tx.run(sql`INSERT INTO ${names.collectionTable('comments')} (id, post, note, word, created, updated, "$revision")
        ${numbers} SELECT 'comment' || n, 'post' || (n % 1000), 'note ' || n, 'word', '', '', 1 FROM n`);
    });
  });
  const path = '/api/records/posts?perPage=1000&expand=comments_via_post&fields=expand.comments_via_post.id';
  const { status, json } = await service.request(path);
  assert.equal(status, 200);
  const items: readonly { readonly expand: { readonly comments_via_post: readonly unknown[] } }[] =
    json.items;
  assert.equal(items[0]?.expand.comments_via_post.length, 20);
  // Each row asks all others.
  const viewRule = '@collection.comments.note ?> word';
  await service.request('/api/collections/comments', { method: 'PATCH', token: true, body: { viewRule } });
  const slow = await service.request(path);
  assert.deepEqual([slow.status, slow.json.message], [503, 'The query took too long.']);
});

/** As many bytes as an editor field takes. */
const bytesMax = 5 * 1024 * 1024;

test('A15 Q-13 long patterns over large texts are ended in time, and a word is found wherever it is in them', async (t) => {
  const service = await startService(t);
  const fields = [
    { name: 'body', type: 'editor' },
    { name: 'data', type: 'json', maxSize: bytesMax },
  ];
  const body = { name: 'pages', listRule: '', createRule: '', fields };
  assert.equal(
    (await service.request('/api/collections', { method: 'POST', token: true, body })).status,
    200,
  );
  const make = async (text: string): Promise<void> => {
    const page = { body: text, data: { text: text.slice(100) } };
    const made = await service.request('/api/records/pages', { method: 'POST', body: page });
    assert.equal(made.status, 201, made.text);
  };
  await make('wool '.repeat(bytesMax / 5 - 10).concat('100% Ünder the Sea'));
  await make('a'.repeat(bytesMax));
  const pathOf = (filter: string): string =>
    `/api/records/pages?fields=id&filter=${encodeURIComponent(filter)}`;
  for (const field of ['body', 'data.text'])
    for (const [pattern, count] of [
      ['ünder', 1],
      ['Ünder THE sea', 1],
      ['100%', 0],
      [String.raw`100\%`, 1],
      ['%wool%the_sea', 1],
      ['wool%wool', 0],
      ['a'.repeat(256), 1],
    ] as const) {
      const { status, json } = await service.request(pathOf(`${field} ~ '${pattern}'`));
      assert.deepEqual([status, json.totalItems], [200, count], `${field} ~ ${pattern}`);
    }
  assert.equal((await service.request(pathOf("body !~ 'sea'"))).json.totalItems, 1);
  await service.stop();
  const hurried = await startService(t, { data: service.data, flags: { 'query-timeout': '0.05' } });
  // Where an engine begins anew at each letter, one of these takes it seconds, and all of them half a minute.
  const patterns = Array.from({ length: 13 }, (_, index) => `body ~ '${'a'.repeat(245)}${index}'`);
  const slow = await hurried.request(pathOf(patterns.join(' || ')));
  assert.deepEqual([slow.status, slow.json.message], [503, 'The query took too long.']);
});

test('A15 a filter over large json values is ended in time, however few the records are', async (t) => {
  const service = await startService(t, { flags: { 'query-timeout': '0.05' } });
  const fields = [{ name: 'data', type: 'json' }];
  const body = { name: 'things', listRule: '', createRule: '', fields };
  assert.equal(
    (await service.request('/api/collections', { method: 'POST', token: true, body })).status,
    200,
  );
  const data = Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`key${index}`, index]));
  for (let made = 0; made < 5; made += 1) {
    const answer = await service.request('/api/records/things', { method: 'POST', body: { data } });
    assert.equal(answer.status, 201, answer.text);
  }
  // Each looks through all keys of each record.
  const filter = Array.from({ length: 200 }, (_, index) => `data.none${index}=1`).join('||');
  const slow = await service.request(`/api/records/things?filter=${encodeURIComponent(filter)}`);
  assert.deepEqual([slow.status, slow.json.message], [503, 'The query took too long.']);
});

test('A15 all names of an expand share the time of one list', async (t) => {
  const service = await startService(t);
  const rules = { listRule: '', viewRule: '' };
  const make = async (body: object): Promise<string> => {
    const made = await service.request('/api/collections', { method: 'POST', token: true, body });
    assert.equal(made.status, 200, made.text);
    return String(made.json.id);
  };
  const collectionId = await make({ name: 'posts', ...rules });
  const relations = Array.from({ length: 60 }, (_, index) => `post${index}`);
  const fields = relations.map((name) => ({ name, type: 'relation', collectionId }));
  await make({ name: 'comments', ...rules, fields });
  await service.request('/api/records/posts', { method: 'POST', token: true, body: {} });
  await service.withInstance('default', async ({ database }) => {
    const table = database.names.collectionTable('comments');
    const numbers = sql`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 4 * ${rowsMax})`;
    await database.write((tx) =>
      tx.run(sql`INSERT INTO ${table} (id, created, updated, "$revision")
        ${numbers} SELECT 'comment' || n, '', '', 1 FROM n`),
    );
  });
  await service.stop();
  // Each name reads a whole table in far less than this, and all of them take several times as long.
  const hurried = await startService(t, { data: service.data, flags: { 'query-timeout': '0.5' } });
  const expand = relations.map((name) => `comments_via_${name}`).join(',');
  const slow = await hurried.request(`/api/records/posts?expand=${expand}`);
  assert.deepEqual([slow.status, slow.json.message], [503, 'The query took too long.']);
  await hurried.stop();
});
