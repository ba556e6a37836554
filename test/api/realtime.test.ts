// Both engines: events are read from the log.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { RealtimeStage, posts as records, withOptions } from '../support/realtime-stage.ts';

describe('a connection', () => {
  test('is an event stream that no cache and no proxy keeps, and begins with its client id', async (t) => {
    const stage = await RealtimeStage.open(t);
    const stream = await stage.connect();
    assert.equal(stream.headers['content-type'], 'text/event-stream');
    assert.equal(stream.headers['cache-control'], 'no-store');
    assert.equal(stream.headers['x-accel-buffering'], 'no');
    assert.match(String(stream.headers['x-request-id']), /./);
    assert.equal((await stage.connect()).clientId === stream.clientId, false);
  });

  test('answers HEAD with its headers alone', async (t) => {
    const stage = await RealtimeStage.open(t);
    const answer = await stage.service.request('/api/realtime', { method: 'HEAD' });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  });

  test('R-15: is told of each change of the records it has subscribed to, in the form of the contract', async (t) => {
    const stage = await RealtimeStage.open(t);
    const stream = await stage.subscribed('posts/*');
    const id = await stage.create('one', { secret: 'hidden', meta: { text: 'a\n\ndata:x\nevent:y' } });
    const [created] = await stream.received(1);
    const shown = (await stage.service.request(`${records}/${id}`)).json;
    assert.deepEqual(created, { event: 'posts/*', data: { record: shown, action: 'create' } });
    assert.equal(
      stream.text.split('\n\n')[1],
      `id:${stream.clientId}\nevent:posts/*\ndata:${JSON.stringify(created.data)}`,
    );
    await stage.ok('PATCH', `${records}/${id}`, { title: 'two' });
    // Changes nothing, so it is no change.
    await stage.ok('PATCH', `${records}/${id}`, { title: 'two' });
    await stage.ok('DELETE', `${records}/${id}`);
    await stage.create('three');
    await stream.received(4);
    assert.deepEqual(stream.told, ['create one', 'update two', 'delete two', 'create three']);
  });

  test('is told by every form of a topic under the name it was subscribed with', async (t) => {
    const stage = await RealtimeStage.open(t);
    const { id: collection } = await stage.ok('GET', '/api/collections/posts');
    const id = await stage.create('one');
    const other = await stage.create('other');
    const topics = [
      'posts',
      'posts/*',
      'POSTS/*',
      `${collection}/*`,
      collection,
      `posts/${id}`,
      `${collection}/${id}`,
    ];
    const stream = await stage.subscribed(
      ...topics,
      `posts/${other}`,
      'posts/nothing',
      `posts/${id.toUpperCase()}`,
    );
    await stage.ok('PATCH', `${records}/${id}`, { title: 'two' });
    const messages = await stream.received(topics.length);
    assert.deepEqual(new Set(messages.map(({ event }) => event)), new Set(topics));
  });

  test('replaces all of its subscriptions by each request, and keeps those that stay', async (t) => {
    const stage = await RealtimeStage.open(t);
    await stage.ok('POST', '/api/collections', {
      name: 'notes',
      listRule: '',
      fields: [{ name: 'title', type: 'text' }],
    });
    const stream = await stage.subscribed('posts/*', 'notes/*');
    assert.equal((await stage.set(stream.clientId, ['posts/*'])).status, 204);
    await stage.ok('POST', '/api/collections/notes/records', { title: 'unheard' });
    await stage.create('heard');
    await stream.received(1);
    assert.equal((await stage.set(stream.clientId, [])).status, 204);
    await stage.create('unheard');
    assert.equal((await stage.set(stream.clientId, ['notes/*'])).status, 204);
    await stage.ok('POST', '/api/collections/notes/records', { title: 'at last' });
    await stream.received(2);
    assert.deepEqual(stream.told, ['create heard', 'create at last']);
  });

  test('R-11: is told of what a batch and a truncation did, in their order, and of nothing that was rolled back', async (t) => {
    const stage = await RealtimeStage.open(t);
    const stream = await stage.subscribed('posts/*');
    const create = (title: unknown, id?: string): object => ({
      method: 'POST',
      url: records,
      body: { title, ...(id && { id }) },
    });
    const failed = await stage.service.request('/api/batch', {
      method: 'POST',
      token: true,
      body: { requests: [create('never'), create('never', 'not an id')] },
    });
    assert.equal(failed.status, 400);
    await stage.ok('POST', '/api/batch', { requests: [create('a'), create('b')] });
    await stage.ok('DELETE', '/api/collections/posts/truncate');
    await stream.received(4);
    assert.deepEqual(stream.told.slice(0, 2), ['create a', 'create b']);
    assert.deepEqual(stream.told.slice(2).toSorted(), ['delete a', 'delete b']);
  });

  test('gets what its options ask for: some fields, related records, and only what its filter selects', async (t) => {
    const stage = await RealtimeStage.open(t);
    await stage.ok('POST', '/api/collections', {
      name: 'comments',
      listRule: '',
      fields: [
        { name: 'title', type: 'text' },
        {
          name: 'post',
          type: 'relation',
          collectionId: (await stage.ok('GET', '/api/collections/posts')).id,
        },
      ],
    });
    const post = await stage.create('the post');
    const expanded = withOptions('comments/*', { query: { expand: 'post' } });
    const some = withOptions('comments/*', { query: { fields: 'title,expand.post.title', expand: 'post' } });
    const chosen = withOptions('comments/*', { query: { filter: 'post.title = "the post" && title ~ "b"' } });
    const stream = await stage.subscribed(expanded, some, chosen);
    await stage.ok('POST', '/api/collections/comments/records', { title: 'a', post });
    await stream.received(2);
    await stage.ok('POST', '/api/collections/comments/records', { title: 'b', post });
    const messages = await stream.received(5);
    // oxlint-disable-next-line typescript/no-explicit-any
    const of = (event: string): readonly any[] =>
      messages.filter((one) => one.event === event).map(({ data }) => data.record);
    assert.deepEqual(of(some), [
      { title: 'a', expand: { post: { title: 'the post' } } },
      { title: 'b', expand: { post: { title: 'the post' } } },
    ]);
    assert.equal(of(expanded)[0].expand.post.id, post);
    assert.equal(of(chosen).length, 1);
  });

  test('may subscribe to messages of other names, which nobody else gets', async (t) => {
    const stage = await RealtimeStage.open(t);
    const stream = await stage.subscribed('@oauth2');
    const other = await stage.subscribed('posts/*');
    const send = async (clientId: string): Promise<number> =>
      (await stage.service.request(`/api/oauth2-redirect?state=${clientId}&code=1`)).status;
    assert.equal(await send(other.clientId), 400);
    assert.equal(await send('nobody'), 400);
    assert.equal(await send(stream.clientId), 200);
    const data = { state: stream.clientId, code: '1', error: '' };
    assert.deepEqual(await stream.received(1), [{ event: '@oauth2', data }]);
    assert.equal(await send(stream.clientId), 400);
    assert.deepEqual(other.messages, []);
  });

  test("that is closed is forgotten, and its id is nobody's any more", async (t) => {
    const stage = await RealtimeStage.open(t);
    const stream = await stage.subscribed('posts/*');
    stream.close();
    await eventually('forgotten', async () => (await stage.set(stream.clientId, ['posts/*'])).status === 404);
    const answer = await stage.set(stream.clientId, ['posts/*']);
    assert.equal(answer.json.message, 'Missing or invalid client id.');
    await stage.create('nobody hears it');
  });
});

test('R-10: subscriptions are set by whoever knows the client id, and refused in the words of the contract', async (t) => {
  const stage = await RealtimeStage.open(t);
  const { clientId } = await stage.connect();
  const refused = async (body: unknown): Promise<string> => {
    const answer = await stage.service.request('/api/realtime', { method: 'POST', body });
    return `${answer.status} ${answer.json.message} ${Object.keys(answer.json.data).join()}`;
  };
  const wrong = 'Failed to set the subscriptions.';
  assert.equal(await refused({}), `400 ${wrong} clientId`);
  assert.equal(await refused({ clientId: 5 }), `400 ${wrong} clientId`);
  assert.equal(await refused({ clientId: 'a'.repeat(256) }), `400 ${wrong} clientId`);
  assert.equal(await refused({ clientId: 'a'.repeat(255) }), '404 Missing or invalid client id. ');
  assert.equal(await refused({ clientId, subscriptions: 'posts/*' }), `400 ${wrong} subscriptions`);
  assert.equal(await refused({ clientId, subscriptions: [1] }), `400 ${wrong} subscriptions`);
  assert.equal(await refused({ clientId, subscriptions: [''] }), `400 ${wrong} subscriptions`);
  const long = await stage.set(clientId, ['posts/*', 'a'.repeat(2_501)]);
  assert.deepEqual(
    [long.status, Object.keys(long.json.data.subscriptions), long.json.data.subscriptions['1'].code],
    [400, ['1'], 'validation_length_too_long'],
  );
  const many = Array.from({ length: 1_001 }, (_, index) => `posts/${index}`);
  assert.equal(await refused({ clientId, subscriptions: many }), `400 ${wrong} subscriptions`);
  assert.equal((await stage.set(clientId, many.slice(1))).status, 204);
  for (const [topic, why] of [
    ['posts/*\nevent:x', 'control characters'],
    ['posts/*?options=%7B', 'JSON object'],
    ['posts/*?options=5', 'JSON object'],
    [withOptions('posts/*', { query: 5 }), 'objects'],
    [withOptions('posts/*', { query: { filter: ['a'] } }), 'texts'],
    [withOptions('posts/*', { query: { filter: 'title =' } }), 'Expected'],
    [withOptions('posts/*', { query: { filter: 'nothing = 1' } }), 'nothing'],
    [withOptions('posts/*', { query: { fields: 'a:b' } }), 'modifier'],
    [withOptions('posts/*', { query: { since: 'yesterday' } }), 'cursor'],
  ] as const) {
    const answer = await stage.set(clientId, [topic]);
    assert.equal(answer.status, 400, topic);
    assert.ok(answer.text.includes(why), `${topic}: ${answer.text}`);
  }
  // Inside a quoted text as well.
  for (const [filter, name] of [
    ['@request.auth.id = ""', '@request.'],
    ["title = '@collection.'", '@collection.'],
  ] as const) {
    const forbidden = await stage.set(clientId, [withOptions('posts/*', { query: { filter } })]);
    assert.equal(forbidden.status, 400);
    assert.ok(forbidden.text.includes(`Only superusers can filter by ${name}`), forbidden.text);
  }
});

test('A27 a topic that is wrong is refused alone, and once: the client gets all others, then and later', async (t) => {
  const stage = await RealtimeStage.open(t);
  await stage.ok('POST', '/api/collections', {
    name: 'notes',
    listRule: '',
    fields: [{ name: 'title', type: 'text' }],
  });
  const stream = await stage.connect();
  const wrong = withOptions('posts/*', { query: { filter: 'nothing = 1' } });
  const first = await stage.set(stream.clientId, ['posts/*', wrong]);
  assert.equal(first.status, 400);
  assert.deepEqual(Object.keys(first.json.data.subscriptions), [wrong]);
  assert.match(first.json.data.subscriptions[wrong].message, /nothing/);
  await stage.create('one');
  await stream.received(1);
  // The SDK sends all topics again with each new one.
  assert.equal((await stage.set(stream.clientId, ['posts/*', wrong, 'notes/*'])).status, 204);
  await stage.ok('POST', '/api/collections/notes/records', { title: 'two' });
  await stream.received(3);
  assert.deepEqual(
    stream.told.filter((one) => one.startsWith('create')),
    ['create one', 'create two'],
  );
  const error = stream.messages.find(({ event }) => event === 'PB_ERROR');
  assert.equal(error?.data.topic, wrong);
  // Another wrong one is refused again, and one that was left out is forgotten.
  assert.equal((await stage.set(stream.clientId, ['posts/*?options=5', wrong])).status, 400);
  assert.equal((await stage.set(stream.clientId, [])).status, 204);
  assert.equal((await stage.set(stream.clientId, [wrong])).status, 400);
});

test('R-05: topics of what there is not, or is closed, are taken and tell nothing', async (t) => {
  const stage = await RealtimeStage.open(t, { listRule: null, viewRule: null });
  const id = await stage.create('one');
  const topics = [
    'posts/*',
    `posts/${id}`,
    'nothing/*',
    '*',
    '*/*',
    '__proto__',
    '__proto__/*',
    "posts/' OR 1=1",
    '_superusers/*',
  ];
  await stage.ok('POST', '/api/collections', {
    name: 'notes',
    listRule: '',
    fields: [{ name: 'title', type: 'text' }],
  });
  const stream = await stage.subscribed(...topics, 'notes/*');
  await stage.ok('PATCH', `${records}/${id}`, { title: 'two' });
  // What is told now is told after what happened before.
  await stage.ok('POST', '/api/collections/notes/records', { title: 'now' });
  await stream.received(1);
  await stage.ok('PATCH', '/api/collections/posts', { listRule: '' });
  await stage.ok('PATCH', `${records}/${id}`, { title: 'three' });
  await stream.received(2);
  assert.deepEqual(stream.told, ['create now', 'update three']);
});

test('while the log has only what endpoints are told, subscriptions to records are refused with the reason', async (t) => {
  const stage = await RealtimeStage.open(t);
  await stage.ok('PATCH', '/api/settings', { webhooks: { events: 'when told' } });
  const { clientId } = await stage.connect();
  const answer = await stage.set(clientId, ['posts/*']);
  assert.equal(answer.status, 400);
  assert.match(answer.json.message, /webhooks\.events/);
  assert.equal((await stage.set(clientId, ['@oauth2'])).status, 204);
});
