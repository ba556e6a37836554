// Both engines: rules compile to SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Accounts, users } from '../support/accounts.ts';
import { longId, startBlog, type Ask, type Blog } from '../support/blog.ts';

const rule = '@collection.secrets.codename = "top" || title != ""';
const broken = { data: {}, message: 'Something went wrong while processing your request.', status: 400 };

/** Posts whose rules name a collection that was there when they were saved. */
async function startBroken(blog: Blog): Promise<void> {
  const { ask } = blog;
  const steps: readonly Parameters<Ask>[] = [
    ['POST', '', { name: 'secrets', fields: [{ name: 'codename', type: 'text' }] }],
    [
      'PATCH',
      '/posts',
      { listRule: rule, viewRule: rule, createRule: rule, updateRule: rule, deleteRule: rule },
    ],
    ['DELETE', '/secrets'],
  ];
  for (const step of steps) {
    const { status, text } = await ask(...step);
    assert.ok(status === 200 || status === 204, text);
  }
}

test('a rule that no longer compiles refuses all, and tells nothing of its text but to the log', async (t) => {
  const blog = await startBlog(t);
  const { ask, askAsGuest, service } = blog;
  await startBroken(blog);
  const post = `/posts/records/${longId('p1')}`;
  const cases: readonly Parameters<Ask>[] = [
    ['GET', '/posts/records'],
    ['GET', '/posts/records?filter=title%3D%22one%22'],
    ['GET', '/posts/records?expand=author'],
    ['GET', post],
    ['POST', '/posts/records', { title: 'new' }],
    ['PATCH', post, { title: 'new' }],
    ['DELETE', post],
    // What may be listed of the posts is what their list rule says.
    ['GET', '/comments/records?filter=post.title%3D%22one%22'],
  ];
  for (const [method, path, body] of cases)
    assert.deepEqual((await askAsGuest(method, path, body)).json, broken, `${method} ${path}`);
  const warned = service.log.filter(
    ({ message }) => message === 'A stored rule is invalid and now denies everyone.',
  );
  assert.equal(warned.length, cases.length);
  assert.ok(warned.every(({ level }) => level === 'warn'));
  // Which rule, and why; no stack, as anybody may ask as often as they like.
  const told = warned.map(({ members }) => [members['collection'], members['reason'], members['error']]);
  const reason = 'Unknown macro "@collection.secrets.codename" at position 0.';
  assert.deepEqual(told[0], ['posts', reason, undefined]);
  assert.equal((await ask('GET', '/posts/records')).json.totalItems, 4, 'superusers pass every rule');
  const batch = await service.request('/api/batch', {
    method: 'POST',
    body: {
      requests: [{ method: 'POST', url: '/api/collections/posts/records', body: { title: 'new' } }],
    },
  });
  assert.equal(batch.status, 400);
  assert.deepEqual(batch.json.data.requests['0'].response, broken);
});

test('a relation to records whose rule no longer compiles expands to nothing', async (t) => {
  const blog = await startBlog(t);
  await startBroken(blog);
  const asked = '/comments/records?expand=post,by&sort=id&fields=id,expand';
  const list = await blog.askAsGuest('GET', asked);
  assert.equal(list.status, 200, list.text);
  for (const comment of list.json.items) assert.deepEqual(Object.keys(comment.expand), ['by']);
  assert.equal((await blog.ask('GET', asked)).json.items[0].expand.post.title, 'one');
  assert.ok(blog.service.log.some(({ message }) => message.startsWith('A stored rule is invalid')));
});

test('a manage rule that no longer compiles makes nobody a manager, and nothing else fails with it', async (t) => {
  const accounts = await Accounts.start(t);
  const ann = await accounts.account('ann');
  const bob = await accounts.account('bob');
  await accounts.ask('POST', '/api/collections', {
    token: true,
    body: { name: 'secrets', fields: [{ name: 'codename', type: 'text' }] },
  });
  await accounts.define({
    listRule: '',
    updateRule: '',
    manageRule: '@collection.secrets.codename != "x" || id != ""',
  });
  await accounts.ask('DELETE', '/api/collections/secrets', { token: true });
  const { token } = ann;
  const list = await accounts.ask('GET', `${users}?filter=id%3D%22${bob.id}%22`, { token });
  assert.equal(list.status, 200, list.text);
  assert.equal(list.json.items.length, 1);
  // Presented one by one, as a list with fields is.
  const shown = await accounts.ask('GET', `${users}?fields=id,email,name&sort=name`, { token });
  assert.equal(shown.status, 200, shown.text);
  assert.deepEqual(shown.text.match(/"email"/g)?.length, 1, shown.text);
  const own = await accounts.ask('PATCH', `${users}/${ann.id}`, { token, body: { name: 'Anna' } });
  assert.equal(own.status, 200, own.text);
  const foreign = await accounts.ask('PATCH', `${users}/${bob.id}`, { token, body: { verified: true } });
  assert.equal(foreign.json.data.verified.code, 'validation_values_mismatch', foreign.text);
});
