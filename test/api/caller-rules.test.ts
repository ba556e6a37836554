// Both engines: rules compile to SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longId, startBlog, type Blog } from '../support/blog.ts';

const password = 'correct horse';

/** Signs up a reader in a team, and gives what posts they see in a list and one by one. */
async function startReader(blog: Blog): Promise<{
  readonly join: (team: string) => Promise<void>;
  readonly seen: () => Promise<{ readonly listed: string; readonly viewed: string }>;
}> {
  const { ask, service } = blog;
  const teams = String((await ask('GET', '/teams')).json.id);
  const { fields } = (await ask('GET', '/users')).json;
  const more = [
    { name: 'team', type: 'relation', collectionId: teams },
    { name: 'level', type: 'number' },
    { name: 'word', type: 'text' },
  ];
  assert.equal((await ask('PATCH', '/users', { fields: [...fields, ...more] })).status, 200);
  const email = 'reader@example.com';
  const body = { email, password, passwordConfirm: password, level: 40, word: 'n' };
  const { id } = (await ask('POST', '/users/records', body)).json;
  const signedIn = await ask('POST', '/users/auth-with-password', { identity: email, password });
  const token = String(signedIn.json.token);
  const read = (path: string) => service.request(`/api/collections/posts/records${path}`, { token });
  return {
    join: async (team) => {
      assert.equal((await ask('PATCH', `/users/records/${String(id)}`, { team })).status, 200);
    },
    seen: async () => {
      const { items, totalItems } = (await read('')).json;
      const listed = [...items].map((item) => String(item.title));
      assert.equal(totalItems, listed.length);
      const viewed: string[] = [];
      for (const post of ['p1', 'p2', 'p3', 'p4']) {
        const { status, json } = await read(`/${longId(post)}`);
        if (status === 200) viewed.push(String(json.title));
      }
      return { listed: listed.join(' '), viewed: viewed.join(' ') };
    },
  };
}

/** What is seen by a reader of team t1, of team t2, and of none. */
const rules: readonly (readonly [rule: string, ...seen: readonly [string, string, string]])[] = [
  ['author.team = @request.auth.team', 'one two', 'three', 'four'],
  ['@request.auth.team = author.team', 'one two', 'three', 'four'],
  ['author.team != @request.auth.team', 'three four', 'one two four', 'one two three'],
  ['readers.team ?= @request.auth.team', 'one four', 'two four', 'three'],
  ['readers.team = @request.auth.team', 'one', 'two', 'three'],
  ["@request.auth.team != '' && author.team = @request.auth.team", 'one two', 'three', ''],
  ["@request.auth.team.name = 'red'", 'one two three four', '', ''],
  ["@request.auth.team.name = 'red' && author.team = @request.auth.team", 'one two', '', ''],
  ['author.team ~ @request.auth.team', 'one two', 'three', 'one two three'],
  ['@request.auth.team:lower = author.team', 'one two', 'three', 'four'],
  ['author.age >= @request.auth.level', 'two three', 'two three', 'two three'],
  ['author.name ~ @request.auth.word', 'one', 'one', 'one'],
  ['@request.auth.verified = false && author.age < @request.auth.level', 'one', 'one', 'one'],
  ['@request.auth.nothing = author.team', 'four', 'four', 'four'],
];

test('a rule that asks for what the caller is means the same in a list and in a view', async (t) => {
  const blog = await startBlog(t);
  const { join, seen } = await startReader(blog);
  for (const [index, team] of [longId('t1'), longId('t2'), ''].entries()) {
    await join(team);
    for (const [rule, ...expected] of rules) {
      const saved = await blog.ask('PATCH', '/posts', { listRule: rule, viewRule: rule });
      assert.equal(saved.status, 200, saved.text);
      const titles = expected[index] ?? '';
      assert.deepEqual(await seen(), { listed: titles, viewed: titles }, `${rule}, in team ${team}`);
    }
  }
});

test('what a rule knows of the caller is what their record holds now', async (t) => {
  const blog = await startBlog(t);
  const { join, seen } = await startReader(blog);
  const rule = 'author.team = @request.auth.team';
  await blog.ask('PATCH', '/posts', { listRule: rule, viewRule: rule });
  for (const [team, titles] of [
    ['t1', 'one two'],
    ['t2', 'three'],
    ['t1', 'one two'],
  ] as const) {
    await join(longId(team));
    assert.deepEqual(await seen(), { listed: titles, viewed: titles });
  }
});

test('a modifier that nothing of an account can have is refused when the rule is saved, not when somebody signs in', async (t) => {
  const { ask } = await startBlog(t);
  // The last two fit no field of that name.
  for (const asked of ['id:isset', 'name:changed', 'team.name:nothing', 'name:length', 'id:each']) {
    const { status, json } = await ask('PATCH', '/posts', { listRule: `@request.auth.${asked} != true` });
    assert.equal(status, 400, asked);
    assert.match(json.data.listRule.message, /The modifier ":\w+" cannot be used/, asked);
  }
  // Of others it may be right, for whom alone it is meant then.
  const fields = [{ name: 'name', type: 'select', values: ['a', 'b'], maxSelect: 2 }];
  assert.equal((await ask('POST', '', { name: 'clients', type: 'auth', fields })).status, 200);
  assert.equal((await ask('PATCH', '/posts', { listRule: '@request.auth.name:length > 1' })).status, 200);
  const unmeant = await ask('PATCH', '/posts', { listRule: '@request.auth.name:lower:length > 1' });
  assert.equal(unmeant.status, 400);
});

test('A29 a rule finds the caller in a relation of many, and a relation of many of the caller in a record', async (t) => {
  const blog = await startBlog(t);
  const { ask, service } = blog;
  const teams = (await ask('GET', '/teams')).json;
  const users = (await ask('GET', '/users')).json;
  const relation = { type: 'relation', maxSelect: 9 };
  const more = { ...relation, name: 'memberOf', collectionId: teams.id };
  await ask('PATCH', '/users', { fields: [...users.fields, more] });
  const email = 'reader@example.com';
  const account = { email, password, passwordConfirm: password, memberOf: [longId('t1'), longId('t2')] };
  const { id } = (await ask('POST', '/users/records', account)).json;
  const token = String(
    (await ask('POST', '/users/auth-with-password', { identity: email, password })).json.token,
  );
  const { fields } = (await ask('GET', '/posts')).json;
  const editors = { ...relation, name: 'editors', collectionId: users.id };
  await ask('PATCH', '/posts', { fields: [...fields, editors] });
  await ask('PATCH', `/posts/records/${longId('p2')}`, { editors: [id] });
  for (const [rule, seen] of [
    ['editors ?= @request.auth.id', 'two'],
    ['@request.auth.id ?= editors', 'two'],
    ['editors ?!= @request.auth.id', 'one three four'],
    ['@request.auth.memberOf ?= author.team', 'one two three'],
    ["@request.auth.memberOf ?= author.team && author.team.name = 'red'", 'one two'],
    ['@request.auth.memberOf ?= @collection.teams.id && editors ?= @request.auth.id', 'two'],
  ] as const) {
    assert.equal((await ask('PATCH', '/posts', { listRule: rule, viewRule: rule })).status, 200, rule);
    const list = await service.request('/api/collections/posts/records', { token });
    const items: readonly { title: string }[] = list.json.items;
    assert.equal(items.map(({ title }) => title).join(' '), seen, rule);
    const guest = await service.request(`/api/collections/posts/records/${longId('p2')}`);
    assert.equal(guest.status, rule.includes('?!=') ? 200 : 404, rule);
  }
});
