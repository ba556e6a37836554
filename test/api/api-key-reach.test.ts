// Both engines: filters compile to SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startBlog, longId, type Blog } from '../support/blog.ts';
import { makeKey } from '../support/make-key.ts';
import type { TestAnswer } from '../support/service.ts';

type AskWith = (method: string, path: string, body?: object) => Promise<TestAnswer>;

/** A blog, and a key for posts alone; `askWith` for keys to others. */
async function setUp(
  t: TestContext,
  collections = ['posts'],
): Promise<Blog & { readonly askWithKey: AskWith; readonly key: string }> {
  const blog = await startBlog(t);
  // Open to everybody, so that nothing but the list keeps the key out.
  const { key } = await makeKey(blog.service, ['records:read', 'records:write'], { collections });
  const askWithKey: AskWith = (method, path, body) =>
    blog.service.request(`/api/collections${path}`, { method, token: key, ...(body && { body }) });
  return { ...blog, askWithKey, key };
}

function idsIn({ json }: TestAnswer): string {
  const items: readonly { readonly id: string }[] = json.items;
  return items.map(({ id }) => id.replace(/0+$/, '')).join(' ');
}

const message = 'The API key does not reach this collection.';

test('a key that is bound to a collection reads and writes its records, hidden fields too, and no others', async (t) => {
  const { askWithKey, ask } = await setUp(t, ['people']);
  await ask('PATCH', '/people', { listRule: null, viewRule: null, updateRule: null });
  assert.equal(idsIn(await askWithKey('GET', "/people/records?filter=(nickname='A')")), 'ann');
  const ann = `/people/records/${longId('ann')}`;
  assert.equal((await askWithKey('GET', ann)).json.nickname, 'A');
  assert.equal((await askWithKey('PATCH', ann, { age: 31 })).json.age, 31);
  const refusals = [
    await askWithKey('GET', '/posts/records'),
    await askWithKey('GET', `/posts/records/${longId('p1')}`),
    await askWithKey('POST', '/posts/records', { title: 'x' }),
    await askWithKey('PATCH', `/posts/records/${longId('p1')}`, { title: 'x' }),
    await askWithKey('DELETE', `/posts/records/${longId('p1')}`),
    await askWithKey('DELETE', '/posts/truncate'),
    await askWithKey('GET', '/posts/records/nothing'),
  ];
  for (const answer of refusals) assert.deepEqual(answer.json, { data: {}, message, status: 403 });
  assert.equal((await askWithKey('GET', '/nowhere/records')).status, 404);
});

test('to a key that is bound to some collections the others are not there in a filter or an order', async (t) => {
  const { askWithKey, select } = await setUp(t);
  // Each is answered to a superuser; a key is told what is told of a field that is none.
  const names = [
    'author.name',
    'author.team.name',
    'readers.name',
    'comments_via_post.stars',
    'comments_via_post.id',
    'author.posts_via_author.title',
    '@collection.people.name',
    '@collection.teams:x.id',
    '@collection._superusers.email',
  ];
  for (const name of names) {
    assert.doesNotMatch(await select(`${name} ?!= 'nothing'`), /^Expected|^Unknown/, name);
    for (const query of [`filter=(${name} ?!= 'nothing')`, `sort=${name}`]) {
      const answer = await askWithKey('GET', `/posts/records?${query}`);
      assert.equal(answer.status, 400, `${query}: ${answer.text}`);
      assert.match(answer.json.message, /^Unknown (field|macro) /, query);
    }
    const unknown = await askWithKey('GET', `/posts/records?filter=(${name}x ?!= 'nothing')`);
    assert.match(unknown.json.message, /^Unknown (field|macro) /, name);
  }
  assert.equal(idsIn(await askWithKey('GET', "/posts/records?filter=(@request.auth.email != '')")), '');
});

test('what a record itself holds of others can be asked, and what lies within the list', async (t) => {
  const { askWithKey } = await setUp(t, ['posts', 'people']);
  const filter = async (text: string): Promise<string> =>
    idsIn(await askWithKey('GET', `/posts/records?filter=(${encodeURIComponent(text)})`));
  assert.equal(await filter("author.name = 'Ann'"), 'p1');
  assert.equal(await filter(`author.team = '${longId('t2')}'`), 'p3');
  assert.equal(await filter(`author.team.id = '${longId('t2')}'`), 'p3');
  assert.equal(await filter("@collection.people.name ?= 'Ann' && title = 'one'"), 'p1');
  const beyond = await askWithKey('GET', "/posts/records?filter=(author.team.name = 'red')");
  assert.equal(beyond.status, 400);
});

test('expand shows what the key reaches, on reads and on writes', async (t) => {
  const { askWithKey } = await setUp(t, ['posts', 'people']);
  const expand = 'expand=author.team,readers,comments_via_post.by';
  const answers = [
    await askWithKey('GET', `/posts/records/${longId('p1')}?${expand}`),
    await askWithKey('PATCH', `/posts/records/${longId('p1')}?${expand}`, { title: 'again' }),
    (await askWithKey('GET', `/posts/records?${expand}&filter=(title='again')`)).json.items[0],
  ];
  for (const answer of answers) {
    const record = 'json' in answer ? answer.json : answer;
    assert.deepEqual(Object.keys(record.expand), ['author', 'readers']);
    assert.equal(record.expand.author.name, 'Ann');
    assert.equal(record.expand.author.expand, undefined);
  }
});

test('a batch does nothing when one of its requests is beyond the key', async (t) => {
  const { key, service, select } = await setUp(t);
  const send = (requests: readonly object[]): Promise<TestAnswer> =>
    service.request('/api/batch', { method: 'POST', token: key, body: { requests } });
  const own = { method: 'POST', url: '/api/collections/posts/records', body: { title: 'new' } };
  const people = '/api/collections/people/records';
  const beyond = [
    { method: 'POST', url: people, body: { name: 'Eve' } },
    { method: 'PUT', url: people, body: { name: 'Eve' } },
    { method: 'PUT', url: people, body: { id: longId('ann'), name: 'Eve' } },
    { method: 'PATCH', url: `${people}/${longId('ann')}`, body: { name: 'Eve' } },
    { method: 'DELETE', url: `${people}/${longId('dan')}` },
  ];
  for (const request of beyond) {
    const answer = await send([own, request]);
    assert.equal(answer.status, 400, answer.text);
    assert.deepEqual(answer.json.data.requests['1'].response, { data: {}, message, status: 403 });
  }
  assert.equal(await select("title = 'new' || author.name = 'Eve'"), '');
  const [first] = (await send([own])).json;
  assert.equal(first.status, 201);
  assert.equal(service.log.filter(({ level }) => level === 'error').length, 0);
});

test('a renamed collection stays the one that the key was made for, and another under its name is not', async (t) => {
  const { askWithKey, ask } = await setUp(t);
  await ask('PATCH', '/posts', { name: 'articles' });
  assert.equal((await askWithKey('GET', '/articles/records')).json.totalItems, 4);
  await ask('POST', '', { id: 'another', name: 'posts', listRule: '' });
  assert.deepEqual((await askWithKey('GET', '/posts/records')).json, { data: {}, message, status: 403 });
});
