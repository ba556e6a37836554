// Both engines: what is beside lists reads a view as well.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import PocketBase from 'pocketbase';
import { makeKey } from '../support/make-key.ts';
import { RealtimeStage } from '../support/realtime-stage.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';
import { startService, type TestService } from '../support/service.ts';

async function setUp(service: TestService): Promise<PocketBase> {
  const pb = await superuserSdk(service);
  const files = { name: 'photo', type: 'file', maxSelect: 1, maxSize: 1_000 };
  await pb.collections.create({
    name: 'posts',
    type: 'base',
    fields: [
      { name: 'title', type: 'text' },
      files,
      { ...files, name: 'papers', maxSelect: 3, protected: true },
    ],
  });
  return pb;
}

test('files of a view are served below it, protected ones by its view rule', async (t) => {
  const service = await startService(t);
  const pb = await setUp(service);
  const file = (name: string): File => new File([`content of ${name}`], name);
  const post = await pb
    .collection('posts')
    .create({ title: 'a', photo: file('a.txt'), papers: [file('b.txt')] });
  await pb.collections.create({
    name: 'shown',
    type: 'view',
    viewRule: 'word = "a"',
    viewQuery:
      "SELECT CAST(title AS text) || '_row' AS id, title AS word, photo AS picture, papers FROM posts",
  });
  await pb.collections.create({ name: 'inner_of', type: 'view', viewQuery: 'SELECT id, picture FROM shown' });
  const guest = new PocketBase(service.url);
  const shown = await guest.collection('shown').getOne('a_row');
  const get = async (view: string, name: string, token = ''): Promise<readonly [number, string]> => {
    const answer = await fetch(`${service.url}/api/files/${view}/a_row/${name}?token=${token}`);
    const text = await answer.text();
    return [answer.status, answer.status === 200 ? text : ''];
  };
  assert.deepEqual(await get('shown', shown['picture']), [200, 'content of a.txt']);
  assert.deepEqual(await get('inner_of', shown['picture']), [200, 'content of a.txt']);
  assert.deepEqual(await get('shown', shown['papers'][0]), [200, 'content of b.txt']);
  assert.deepEqual(await get('shown', 'none.txt'), [404, '']);
  await pb.collections.update('shown', { viewRule: null });
  assert.deepEqual(await get('shown', shown['papers'][0]), [404, '']);
  assert.deepEqual(await get('shown', shown['papers'][0], await pb.files.getToken()), [
    200,
    'content of b.txt',
  ]);
  await pb.collection('posts').update(post.id, { title: 'b' });
  assert.deepEqual(await get('shown', shown['picture']), [404, '']);
  // The view goes, and the files stay.
  await pb.collections.delete('inner_of');
  await pb.collections.delete('shown');
  const own = await fetch(`${service.url}/api/files/posts/${post.id}/${post['photo']}`);
  assert.equal(own.status, 200);
});

test('a view has no events: subscriptions to it are accepted, and endpoints for it refused', async (t) => {
  const service = await startService(t);
  const pb = await setUp(service);
  await pb.collections.create({
    name: 'titles',
    type: 'view',
    listRule: '',
    viewQuery: 'SELECT id, title FROM posts',
  });
  await pb.collections.update('posts', { listRule: '' });
  const stream = await new RealtimeStage(t, service).subscribed('titles/*', 'posts/*');
  const { id } = await pb.collection('posts').create({ title: 'a' });
  const messages = await stream.received(1);
  assert.deepEqual(
    messages.map(({ event, data }) => [event, data.record.id]),
    [['posts/*', id]],
  );
  const body = { url: 'https://example.com/hook', collections: ['titles'] };
  const { status, json } = await service.request('/api/webhooks/endpoints', {
    method: 'POST',
    token: true,
    body,
  });
  assert.deepEqual([status, json.data.collections.message], [400, 'Changes of titles emit no events.']);
});

test('an API key makes no view of collections that it does not reach', async (t) => {
  const service = await startService(t);
  const pb = await setUp(service);
  const { key } = await makeKey(service, ['collections:write', 'records:read']);
  const ask = (path: string, body: unknown): ReturnType<TestService['request']> =>
    service.request(path, { method: 'POST', token: key, body });
  const viewQuery = 'SELECT id, email FROM _superusers';
  const made = await ask('/api/collections', { name: 'admins', type: 'view', viewQuery });
  assert.deepEqual([made.status, made.json.message], [403, 'The API key does not reach this collection.']);
  assert.equal((await ask('/api/collections/meta/dry-run-view', { query: viewQuery })).status, 403);
  assert.equal((await refusalOf(pb.collections.getOne('admins'))).status, 404);
  const own = { name: 'titles', type: 'view', viewQuery: 'SELECT id, title FROM posts' };
  assert.equal((await ask('/api/collections', own)).status, 200);
});

test('expand leads from a record to a view and back, but not in the answer to a write', async (t) => {
  const service = await startService(t);
  const pb = await setUp(service);
  await pb.collections.create({
    name: 'lengths',
    type: 'view',
    viewQuery: 'SELECT id, id AS post, title FROM posts',
  });
  const expand = 'lengths_via_post';
  const made = await pb.collection('posts').create({ title: 'a' }, { expand });
  assert.equal(made.expand, undefined);
  const one = await pb.collection('posts').getOne(made.id, { expand });
  assert.equal(one.expand?.[expand][0].title, 'a');
  const back = await pb.collection('lengths').getOne(made.id, { expand: 'post' });
  assert.equal(back.expand?.['post'].title, 'a');
  const paged = await service.request('/api/collections/lengths/records?cursor=&perPage=1', { token: true });
  assert.deepEqual([paged.status, paged.json.items.length], [200, 1]);
});

test('an e-mail address that its account hides is hidden by what the view selects, not by the view', async (t) => {
  const service = await startService(t);
  const pb = await setUp(service);
  await pb.collections.create({
    name: 'people',
    type: 'view',
    listRule: '',
    viewQuery:
      'SELECT id, CASE WHEN "emailVisibility" = 1 THEN email ELSE \'\' END AS mail, email FROM users',
  });
  const password = 'correct horse';
  await pb.collection('users').create({ email: 'ann@example.com', password, passwordConfirm: password });
  const [person] = await new PocketBase(service.url).collection('people').getFullList();
  assert.deepEqual([person?.['mail'], person?.['email']], ['', 'ann@example.com']);
});
