// Both engines: rules compile to SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventsOf } from '../support/events-of.ts';
import { longId, startBlog } from '../support/blog.ts';

test('a list shows what its rule is true of, and a view what the view rule is true of', async (t) => {
  const { ask, askAsGuest, select } = await startBlog(t);
  const guest = { asGuest: true };
  await ask('PATCH', '/posts', { listRule: "author.team.name = 'red'", viewRule: "tags:each ?= 'z'" });
  assert.equal(await select("id != ''", guest), 'p1 p2');
  assert.equal(await select("title = 'one' || title = 'three'", guest), 'p1');
  assert.equal(await select("id != ''"), 'p1 p2 p3 p4');
  for (const [post, status] of [
    ['p1', 404],
    ['p4', 200],
    ['p9', 404],
  ] as const)
    assert.equal((await askAsGuest('GET', `/posts/records/${longId(post)}`)).status, status, post);
  const hidden = await askAsGuest('GET', `/posts/records/${longId('p1')}`);
  const missing = await askAsGuest('GET', `/posts/records/${longId('p9')}`);
  assert.equal(hidden.text, missing.text, 'what is not shown is told from what is not there by nothing');
  assert.equal(
    (await ask('GET', `/posts/records/${longId('p1')}`)).status,
    200,
    'superusers pass every rule',
  );
});

test('a record is made only if its rule is true of it, and a refusal says nothing of its values', async (t) => {
  const { ask, askAsGuest, service } = await startBlog(t);
  const rule = "title != 'no' && @request.body.title:isset = true && author.team.name = 'red'";
  await ask('PATCH', '/posts', {
    createRule: rule,
    indexes: ['CREATE UNIQUE INDEX one_title ON posts (title)'],
  });
  const make = (body: object): ReturnType<typeof ask> => askAsGuest('POST', '/posts/records', body);
  const refused = { data: {}, message: 'Failed to create record.', status: 400 };
  assert.deepEqual((await make({ title: 'no', author: longId('ann') })).json, refused);
  assert.deepEqual((await make({ author: longId('ann') })).json, refused);
  assert.deepEqual((await make({ title: 'new', author: longId('cat') })).json, refused);
  // Neither that the title is taken, nor that a value is wrong, is told to who may not make it.
  assert.deepEqual((await make({ title: 'one', author: longId('cat') })).json, refused);
  assert.deepEqual((await make({ title: 'new', author: longId('cat'), kind: 'nothing' })).json, refused);
  const taken = await make({ title: 'one', author: longId('ann') });
  assert.equal(taken.json.data.title.code, 'validation_not_unique');
  const wrong = await make({ title: 'new', author: longId('ann'), kind: 'nothing' });
  assert.equal(wrong.json.data.kind.code, 'validation_invalid_value');
  const id = longId('new');
  assert.deepEqual(await eventsOf(service, id), [], 'nothing refused is told');
  assert.equal((await make({ id, title: 'new', author: longId('ann') })).status, 201);
  assert.equal((await eventsOf(service, id)).length, 1);
});

test('an update is asked with the stored values as fields and the new ones as the body', async (t) => {
  const { ask, askAsGuest, service } = await startBlog(t);
  const post = longId('p1');
  const change = (body: object): ReturnType<typeof ask> =>
    askAsGuest('PATCH', `/posts/records/${post}`, body);
  const allowed = async (updateRule: string, body: object): Promise<boolean> => {
    const saved = await ask('PATCH', '/posts', { updateRule });
    assert.equal(saved.status, 200, saved.text);
    const { status, text } = await change(body);
    assert.ok(status === 200 || status === 404, text);
    return status === 200;
  };
  const cases: readonly (readonly [rule: string, body: object, isAllowed: boolean])[] = [
    ["title = 'one'", { title: 'one' }, true],
    ["title = 'new'", { title: 'new' }, false],
    ["@request.body.title = 'one'", { title: 'one' }, true],
    ["@request.body.title = 'one'", { title: 'new' }, false],
    ['@request.body.author:isset = false', { title: 'one' }, true],
    ['@request.body.author:isset = false', { author: longId('ann') }, false],
    ['@request.body.author:changed = false', { author: longId('ann') }, true],
    ['@request.body.author:changed = false', { author: longId('bob') }, false],
    ["@request.body.author.team.name = 'red'", { author: longId('ann') }, true],
    ["@request.body.author.team.name = 'red'", { author: longId('cat') }, false],
    ["@request.body.readers.name ?= 'Cat'", { readers: [longId('ann'), longId('bob')] }, false],
    ["@request.body.readers.name ?= 'Ann'", { readers: [longId('ann'), longId('bob')] }, true],
    ["@request.body.readers.name = 'Ann'", { readers: [longId('ann'), longId('bob')] }, false],
    ['@request.body.readers:length = 2', { readers: [longId('ann'), longId('bob')] }, true],
    ["@request.body.tags:each ?= 'z'", { tags: ['x', 'y'] }, false],
    ["@request.body.tags:each != 'z'", { tags: ['x', 'y'] }, true],
    ["@request.body.tags:each ?= 'y'", { tags: ['x', 'y'] }, true],
    ["@request.body.title:lower = 'one'", { title: 'ONE' }, true],
    ["@request.method = 'PATCH' && @request.auth.id = ''", { title: 'one' }, true],
    ["@request.auth.id != ''", { title: 'one' }, false],
    ["@request.auth.team.name = 'red'", { title: 'one' }, false],
    [`id = '${post}' && @request.headers.x_pass = 'word'`, { title: 'one' }, false],
    ["@request.headers.constructor != ''", { title: 'one' }, false],
    ['@request.headers.constructor:isset = false', { title: 'one' }, true],
  ];
  for (const [rule, body, isAllowed] of cases)
    assert.equal(await allowed(rule, body), isAllowed, `${rule} ${JSON.stringify(body)}`);
  // Neither a value nor a modifier that is wrong tells that there is such a record.
  const hidden = await ask('PATCH', '/posts', { updateRule: "title = 'nothing'" });
  assert.equal(hidden.status, 200);
  for (const body of [{ kind: 'nothing' }, { 'title+': 1 }, { author: 'nobody' }])
    assert.equal((await change(body)).status, 404, JSON.stringify(body));
  const before = (await eventsOf(service, post)).length;
  await allowed("title = 'nothing'", { title: 'stolen' });
  assert.equal((await eventsOf(service, post)).length, before, 'a refused change changes and tells nothing');
  await ask('PATCH', '/posts', { updateRule: "@request.headers.x_pass = 'word' && @request.query.a = '1'" });
  const path = `/api/collections/posts/records/${post}?a=1`;
  const asked = { method: 'PATCH', body: { title: 'passed' } };
  assert.equal((await service.request(path, asked)).status, 404);
  assert.equal((await service.request(path, { ...asked, headers: { 'X-Pass': 'word' } })).status, 200);
});

test('a record is deleted only if its rule is true of it', async (t) => {
  const { ask, askAsGuest, service } = await startBlog(t);
  await ask('PATCH', '/comments', { deleteRule: 'stars < 5' });
  const remove = async (id: string): Promise<number> =>
    (await askAsGuest('DELETE', `/comments/records/${longId(id)}`)).status;
  assert.deepEqual([await remove('c2'), await remove('c1'), await remove('c1')], [404, 204, 404]);
  assert.deepEqual(
    (await eventsOf(service, longId('c2'))).map(({ kind }) => kind),
    ['record.create'],
  );
});

test('a rule that is null refuses before anything is looked for, and one that broke later refuses all', async (t) => {
  const { ask, askAsGuest } = await startBlog(t);
  await ask('PATCH', '/posts', { viewRule: null, listRule: "author.name != ''" });
  const locked = await askAsGuest('GET', '/posts/records/nothing');
  assert.deepEqual([locked.status, locked.json.message], [403, 'Only superusers can perform this action.']);
  const { json: people } = await ask('GET', '/people');
  const definitions: readonly { readonly name: string }[] = people.fields;
  const fields = definitions.filter(({ name }) => name !== 'name');
  assert.equal((await ask('PATCH', '/people', { fields })).status, 200);
  assert.equal((await askAsGuest('GET', '/posts/records')).status, 400);
  assert.equal((await ask('GET', '/posts/records')).status, 200);
});

test('a part that no request has, and a path with an empty step, are unknown in rules and filters', async (t) => {
  const { ask, select } = await startBlog(t);
  const fields = [
    { name: 'meta', type: 'json' },
    { name: 'at', type: 'geoPoint' },
  ];
  assert.equal((await ask('POST', '', { name: 'places', type: 'base', fields })).status, 200);
  for (const name of [
    '@request.boby.title',
    '@request.boby',
    '@request.auth',
    '@request.body',
    '@request.query',
    '@request.method.x',
    '@request.context.x',
    'meta..a',
    'at..lon',
  ]) {
    const rule = await ask('PATCH', '/places', { listRule: `${name} = ''` });
    assert.deepEqual([rule.status, rule.json.data?.listRule?.code], [400, 'validation_invalid_rule'], name);
    const filter = encodeURIComponent(`${name} = ''`);
    assert.equal((await ask('GET', `/places/records?filter=${filter}`)).status, 400, name);
  }
  assert.equal(await select("@request.body.nothing = '' && @request.auth.nothing = ''"), 'p1 p2 p3 p4');
});
