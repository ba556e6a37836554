// Both engines: each puts joins into an order of its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longId, startBlog } from '../support/blog.ts';

/** Two ways to several records each: of PostgreSQL 18.4 the planner finds no order for these joins when it looks for one. */
const filter =
  "author.comments_via_by.id ?~ mentions_via_about.about.readers.name:lower && 'p2' ?<= mentions_via_about.about:each";

test('related records whose joins PostgreSQL cannot put into an order by itself are found, listed and asked about by rules', async (t) => {
  const { service, ask, select, askAsGuest } = await startBlog(t);
  const posts = String((await ask('GET', '/posts')).json.id);
  const about = { name: 'about', type: 'relation', collectionId: posts, maxSelect: 9 };
  assert.equal((await ask('POST', '', { name: 'mentions', fields: [about] })).status, 200);
  await ask('PATCH', `/people/records/${longId('cat')}`, { name: 'c' });
  await ask('POST', '/mentions/records', { about: [longId('p1'), longId('p2')] });
  assert.equal(await select(filter), 'p2');
  const rules = { listRule: filter, viewRule: filter, updateRule: filter, deleteRule: filter };
  assert.equal((await ask('PATCH', '/posts', rules)).status, 200);
  assert.equal(await select('', { asGuest: true }), 'p2');
  const one = `/posts/records/${longId('p2')}`;
  assert.equal((await askAsGuest('GET', one)).status, 200);
  assert.equal((await askAsGuest('PATCH', one, { title: 'told' })).json.title, 'told');
  assert.equal((await askAsGuest('PATCH', `/posts/records/${longId('p3')}`, { title: 'x' })).status, 404);
  const requests = ['p2', 'p2'].map((id) => ({
    method: 'PATCH',
    url: `/api/collections/posts/records/${longId(id)}`,
    body: { 'n+': 1 },
  }));
  const batch = await service.request('/api/batch', { method: 'POST', body: { requests } });
  assert.equal(batch.status, 200, batch.text);
  assert.equal((await askAsGuest('DELETE', one)).status, 204);
  assert.deepEqual(
    service.log.filter(({ level }) => level === 'error'),
    [],
  );
});
