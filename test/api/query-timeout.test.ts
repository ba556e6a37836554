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
