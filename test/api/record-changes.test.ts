// Both engines: records are rows, changed under locks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventsOf } from '../support/events-of.ts';
import { addPost, postFields, postsPath, startWithPosts } from '../support/open-posts.ts';
import type { TestAnswer } from '../support/service.ts';

test('a unique index names all of its fields, on create and on update, and refused writes leave no event', async (t) => {
  const service = await startWithPosts(t);
  await addPost(service, { email: 'a@a.example', text: 'x' });
  const { json: other } = await addPost(service, { email: 'a@a.example', text: 'y' });
  const code = { code: 'validation_not_unique', message: 'Value must be unique.' };
  const made = await addPost(service, { id: 'b'.repeat(15), email: 'a@a.example', text: 'x' });
  assert.deepEqual([made.status, made.json.data], [400, { email: code, text: code }]);
  const changed = await service.request(`${postsPath}/${other.id}`, { method: 'PATCH', body: { text: 'x' } });
  assert.deepEqual([changed.status, changed.json.data], [400, { email: code, text: code }]);
  assert.deepEqual(await eventsOf(service, 'b'.repeat(15)), []);
  assert.equal((await eventsOf(service, other.id)).length, 1);
  for (const text of ['x', 'x']) assert.equal((await addPost(service, { text })).status, 201);
});

test('I-05 I-16 what only the service sets cannot be set, and unknown keys are ignored', async (t) => {
  const service = await startWithPosts(t);
  const forged = {
    created: '2000-01-01 00:00:00.000Z',
    updated: '2000-01-01 00:00:00.000Z',
    collectionId: 'x',
    collectionName: 'x',
    expand: {},
    $revision: 7,
    $position: 7,
    nope: 1,
    'nope+': 1,
  };
  const made = await service.request(postsPath, { method: 'POST', token: true, body: forged });
  assert.equal(made.status, 201);
  assert.match(made.json.created, /^20[2-9]/);
  assert.deepEqual(
    [made.json.collectionName, 'nope' in made.json, 'expand' in made.json],
    ['posts', false, false],
  );
  const same = await service.request(`${postsPath}/${made.json.id}`, {
    method: 'PATCH',
    token: true,
    body: forged,
  });
  assert.deepEqual(same.json, made.json);
  for (const id of ['b'.repeat(15), '', null]) {
    const moved = await service.request(`${postsPath}/${made.json.id}`, { method: 'PATCH', body: { id } });
    assert.equal(moved.json.data.id.code, 'validation_pk_change');
  }
  const shown = await service.request(
    `${postsPath}/${made.json.id}?fields=${['id', 'created', 'updated', ...postFields.map(({ name }) => name)].join(',')}`,
  );
  assert.deepEqual(await eventsOf(service, made.json.id), [
    {
      kind: 'record.create',
      revision: 1,
      data: shown.json,
    },
  ]);
});

test('a record whose id would no longer be given can be changed all the same', async (t) => {
  const service = await startWithPosts(t);
  const { json: made } = await addPost(service, { id: 'z'.repeat(15), text: 'a' });
  const { json: collection } = await service.request('/api/collections/posts', { token: true });
  const narrower = { pattern: '^[a-y0-9]+$', autogeneratePattern: '[a-y0-9]{15}' };
  const defined: readonly { readonly name: string }[] = collection.fields;
  const narrowed = defined.map((field) => (field.name === 'id' ? { ...field, ...narrower } : field));
  const changed = await service.request('/api/collections/posts', {
    method: 'PATCH',
    token: true,
    body: { fields: narrowed },
  });
  assert.equal(changed.status, 200);
  const { status, json } = await service.request(`${postsPath}/${made.id}`, {
    method: 'PATCH',
    body: { text: 'b' },
  });
  assert.deepEqual([status, json.text], [200, 'b']);
  const refused = await addPost(service, { id: 'z'.repeat(15) });
  assert.equal(refused.json.data.id.code, 'validation_invalid_format');
});

test('A8 an update that changes nothing answers 200 and leaves updated, revision and events alone', async (t) => {
  const service = await startWithPosts(t);
  const { json: made } = await addPost(service, {
    text: 'a',
    number: 1,
    json: { a: 1 },
    selects: ['a'],
    date: '2026-01-02',
  });
  for (const body of [
    {},
    '',
    { text: 'a' },
    { number: '1' },
    { date: '2026-01-02T00:00:00Z' },
    { selects: ['a', 'a'] },
    { json: '{"a":1}' },
    { secret: 'guess' },
    { unknown: 1 },
  ]) {
    const same = await service.request(`${postsPath}/${made.id}`, { method: 'PATCH', body });
    assert.deepEqual([same.status, same.json], [200, made], JSON.stringify(body));
  }
  const changed = await service.request(`${postsPath}/${made.id}`, { method: 'PATCH', body: { text: null } });
  assert.deepEqual([changed.json.text, changed.json.updated >= made.updated], ['', true]);
  const events = await eventsOf(service, made.id);
  assert.deepEqual(
    events.map(({ kind, revision }) => `${kind} ${revision}`),
    ['record.create 1', 'record.update 2'],
  );
});

test('I-06 of 100 concurrent creates of one id one is answered 201 and 99 are refused by field', async (t) => {
  const service = await startWithPosts(t);
  const id = 'c'.repeat(15);
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, number) => addPost(service, { id, number })),
  );
  const won = answers.filter(({ status }) => status === 201);
  assert.equal(won.length, 1);
  for (const { status, json } of answers.filter((answer) => answer !== won[0]))
    assert.deepEqual(
      [status, json.data],
      [400, { id: { code: 'validation_not_unique', message: 'Value must be unique.' } }],
    );
  assert.deepEqual((await service.request(`${postsPath}/${id}`)).json, won[0]?.json);
  assert.equal((await eventsOf(service, id)).length, 1);
});

test('I-08 updates against a delete bring nothing back, and revisions have no holes', async (t) => {
  const service = await startWithPosts(t);
  for (let round = 0; round < 5; round += 1) {
    const { json } = await addPost(service, {});
    const change = (number: number): Promise<TestAnswer> =>
      service.request(`${postsPath}/${json.id}`, { method: 'PATCH', body: { number } });
    const before = Array.from({ length: 8 }, (_, index) => change(index + 1));
    const deletes = [1, 2].map(() => service.request(`${postsPath}/${json.id}`, { method: 'DELETE' }));
    const after = Array.from({ length: 8 }, (_, index) => change(index + 100));
    const updates = (await Promise.all([...before, ...after])).map(({ status }) => status);
    assert.deepEqual(
      (await Promise.all(deletes)).map(({ status }) => status).toSorted((one, other) => one - other),
      [204, 404],
    );
    assert.deepEqual(
      updates.filter((status) => status !== 200 && status !== 404),
      [],
    );
    assert.equal((await service.request(`${postsPath}/${json.id}`)).status, 404);
    const events = await eventsOf(service, json.id);
    assert.deepEqual(
      events.map(({ revision }) => revision),
      events.map((_, index) => index + 1),
    );
    assert.equal(events.at(-1)?.kind, 'record.delete');
    assert.equal(events.length, updates.filter((status) => status === 200).length + 2);
    // An id that is made again starts again.
    await addPost(service, { id: json.id });
    assert.equal((await eventsOf(service, json.id)).at(-1)?.revision, 1);
    await service.request(`${postsPath}/${json.id}`, { method: 'DELETE' });
  }
});

test('W-43 Q-23 Q-25 a hidden field is read and written by superusers only, and is in no event, filter, sort or field list of others', async (t) => {
  const service = await startWithPosts(t);
  const made = await service.request(postsPath, { method: 'POST', token: true, body: { secret: 'canary' } });
  assert.equal(made.json.secret, 'canary');
  const path = `${postsPath}/${made.json.id}`;
  for (const answer of [
    await service.request(path),
    await service.request(postsPath),
    await service.request(`${path}?fields=*,secret`),
    await service.request(path, { method: 'PATCH', body: { secret: 'mine', text: 'x' } }),
    await addPost(service, { secret: 'mine' }),
  ]) {
    assert.ok(answer.status < 300);
    assert.doesNotMatch(answer.text, /secret|canary|mine/);
  }
  assert.equal((await service.request(path, { token: true })).json.secret, 'canary');
  for (const query of [
    "filter=NAME='canary'",
    'filter=NAME~%27c%27',
    'sort=NAME',
    "filter=NAME!=''%26%26id!=''",
    'filter=NAME.a=1',
    'filter=NAME:lower=1',
    'sort=NAME.a',
  ]) {
    const [hidden, unknown] = [
      await service.request(`${postsPath}?${query.replace('NAME', 'secret')}`),
      await service.request(`${postsPath}?${query.replace('NAME', 'absent')}`),
    ];
    assert.equal(hidden.status, 400, query);
    assert.equal(hidden.text, unknown.text.replaceAll('absent', 'secret'), query);
  }
  assert.equal(
    (await service.request(`${postsPath}?filter=secret='canary'&sort=secret`, { token: true })).json
      .totalItems,
    1,
  );
  const events = await eventsOf(service, made.json.id);
  assert.equal(events.length, 2);
  assert.doesNotMatch(JSON.stringify(events), /secret|canary|mine/);
});

test('G3 a `fields` that cannot be followed is refused before anything is changed', async (t) => {
  const service = await startWithPosts(t);
  const { json } = await addPost(service, { text: 'a' });
  for (const fields of ['text:excerpt(0)', 'text:excerpt(5,perhaps)', 'text:nope']) {
    const query = `?fields=${fields}`;
    const answers = [
      await addPost(service, { id: 'd'.repeat(15) }, postsPath + query),
      await service.request(`${postsPath}/${json.id}${query}`, { method: 'PATCH', body: { text: 'b' } }),
    ];
    for (const answer of answers)
      assert.deepEqual([answer.status, Object.keys(answer.json.data)], [400, ['fields']], fields);
  }
  const made = await service.request(`/api/collections?fields=name:nope`, {
    method: 'POST',
    token: true,
    body: { name: 'half' },
  });
  assert.equal(made.status, 400);
  assert.equal((await service.request('/api/collections/half', { token: true })).status, 404);
  const listed = await service.request(`${postsPath}?fields=text`);
  assert.deepEqual(listed.json.items, [{ text: 'a' }]);
});
