import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { App } from '../../src/app.ts';
import { NodeGroup } from './node-group.ts';

const at = '/api/collections/things/records';
const id = 'aaaaaaaaaaaaaaa';
const open = { listRule: '', viewRule: '', createRule: '', updateRule: '' };
const text = (id: string, name: string, more = {}) => ({ id, name, type: 'text', ...more });

test('a field whose name has gone to another is not shown under it by another node', async (t) => {
  const { group, a, b } = await openPair(t);
  const fields = (shown: string, hidden: string) => [
    text('text_shown', shown),
    text('text_hidden', hidden, { hidden: true }),
  ];
  await group.get(a, 'POST /api/collections', { name: 'things', ...open, fields: fields('one', 'two') });
  await group.get(a, `POST ${at}`, { id, one: 'shown', two: 'hidden' });
  const { token } = group;
  for (const [shown, hidden] of exchanges('one', 'two')) {
    group.token = '';
    await seenBy(group, b);
    group.token = token;
    await group.get(a, 'PATCH /api/collections/things', { fields: fields(shown, hidden) });
    group.token = '';
    for (const record of await seenBy(group, b)) {
      assert.equal(record[shown], 'shown');
      assert.ok(!(hidden in record));
    }
    group.token = token;
  }
});

test('a select that has become multiple is no broken JSON of another node', async (t) => {
  const { group, a, b } = await openPair(t);
  const fields = (maxSelect: number) => [
    { id: 'select_it', name: 'it', type: 'select', values: ['x', 'y'], maxSelect },
  ];
  await group.get(a, 'POST /api/collections', { name: 'things', ...open, fields: fields(1) });
  await group.get(a, `POST ${at}`, { id, it: 'x' });
  for (const [maxSelect, value] of [
    [2, ['x']],
    [1, 'x'],
    [2, ['x']],
    [1, 'x'],
  ] as const) {
    await seenBy(group, b);
    await group.get(a, 'PATCH /api/collections/things', { fields: fields(maxSelect) });
    for (const { it } of await seenBy(group, b)) assert.deepEqual(it, value);
  }
});

test('collections that have exchanged their names are not read by the rules of each other', async (t) => {
  const { group, a, b } = await openPair(t);
  const fields = [text('text_what', 'what')];
  const mine = { id: 'collection_open', name: 'things', ...open, fields };
  const other = { id: 'collection_shut', name: 'secrets', fields };
  for (const definition of [mine, other]) {
    await group.get(a, 'POST /api/collections', definition);
    await group.get(a, `POST /api/collections/${definition.name}/records`, { id, what: definition.id });
  }
  const { token } = group;
  for (const [name, otherName] of exchanges('things', 'secrets')) {
    group.token = '';
    for (const each of [name, otherName]) await group.ask(b, `GET /api/collections/${each}/records`);
    group.token = token;
    const collections = [
      { ...mine, name },
      { ...other, name: otherName },
    ];
    await group.get(a, 'PUT /api/collections/import', { collections });
    group.token = '';
    const { json } = await group.ask(b, `GET /api/collections/${name}/records`);
    for (const { what } of json.items ?? []) assert.equal(what, mine.id);
    const { json: shut } = await group.ask(b, `GET /api/collections/${otherName}/records`);
    assert.equal(shut.items, undefined);
    group.token = token;
  }
});

test('a write is not refused for what another node has changed before', async (t) => {
  const { group, a, b } = await openPair(t);
  for (const round of [1, 2, 3]) {
    const fields = (required: boolean) => [text('text_title', 'title', { required })];
    const name = `things${round}`;
    await group.get(a, 'POST /api/collections', { name, ...open, fields: fields(true) });
    await group.get(b, `PATCH /api/collections/${name}`, { fields: fields(true) });
    await group.get(a, `PATCH /api/collections/${name}`, { fields: fields(false) });
    await group.get(b, `POST /api/collections/${name}/records`, {});
    await group.get(a, `DELETE /api/collections/${name}`);
    await group.get(b, 'POST /api/collections', { name, fields: [] });
    const url = group.receiver.urlAt('127.0.0.1', '/hook');
    const { id } = await group.get(a, 'POST /api/webhooks/endpoints', { url });
    await group.get(b, `PATCH /api/webhooks/endpoints/${id}`, { events: ['record.create'] });
  }
});

test('a write is not refused by a rule that another node has opened before', async (t) => {
  const { group, a, b } = await openPair(t);
  const { token } = group;
  const account = (name: string) => {
    const password = 'correct horse';
    return { id: name.padEnd(15, '0'), email: `${name}@example.com`, password, passwordConfirm: password };
  };
  const batch = (method: string, url: string, body: unknown) =>
    ['POST /api/batch', { requests: [{ method, url, body }] }] as const;
  const fields = [text('text_title', 'title')];
  await group.get(a, 'POST /api/collections', { name: 'things', type: 'auth', ...open, fields });
  await group.get(a, `POST ${at}`, account('anna'));
  const one = `${at}/${account('anna').id}`;
  const asked = [
    [['createRule'], `POST ${at}`, account('berta')],
    [['updateRule'], `PATCH ${one}`, { title: 'x' }],
    [['updateRule'], ...batch('PATCH', one, { title: 'y' })],
    // Which tells only then whether there is a password to be hashed.
    [['createRule', 'updateRule'], ...batch('PUT', at, account('clara'))],
    [['deleteRule'], `DELETE ${one}`, undefined],
  ] as const;
  for (const [rules, request, body] of asked) {
    const all = (rule: string | null) => Object.fromEntries(rules.map((name) => [name, rule]));
    // Known to the other node, as it makes it so itself.
    await group.get(b, 'PATCH /api/collections/things', all(null));
    await group.get(a, 'PATCH /api/collections/things', all(''));
    group.token = '';
    await group.get(b, request, body);
    group.token = token;
  }
  // And what is shut stays shut.
  await group.get(a, 'PATCH /api/collections/things', { createRule: null });
  group.token = '';
  assert.equal((await group.ask(b, `POST ${at}`, account('dora'))).status, 403);
});

test('a write goes to the collection that another node has given its name before', async (t) => {
  const { group, a, b } = await openPair(t);
  const names = ['things', 'others'] as const;
  const fields = [text('text_title', 'title')];
  const define = (name: string, id: string) => ({ id, name, ...open, deleteRule: '', fields });
  for (const name of names) await group.get(a, 'POST /api/collections', define(name, `collection_${name}`));
  const asked = [
    [`POST ${at}`, { id }],
    ['POST /api/batch', { requests: [{ method: 'POST', url: at, body: { id } }] }],
    [`PATCH ${at}/${id}`, { title: 'x' }],
    ['POST /api/batch', { requests: [{ method: 'PUT', url: at, body: { id, title: 'z' } }] }],
    [`DELETE ${at}/${id}`, undefined],
    [`DELETE ${at}/${id}`, undefined],
  ] as const;
  let ids = names.map((name) => `collection_${name}`);
  for (const [request, body] of asked) {
    // As the other node knows them.
    await group.get(b, 'PATCH /api/collections/things', { fields });
    ids = ids.toReversed();
    const collections = names.map((name, index) => define(name, ids[index] ?? ''));
    await group.get(a, 'PUT /api/collections/import', { collections });
    const told = JSON.stringify((await group.get(b, request, body)) ?? '');
    assert.ok(!told.includes('"others"'), `${request}: ${told}`);
  }
  for (const name of names)
    assert.deepEqual((await group.get(a, `GET /api/collections/${name}/records`)).items, [], name);
});

test('an account signs in by what another node has just made an identity', async (t) => {
  const { group, a, b } = await openPair(t);
  const [email, password] = ['anna@example.com', 'correct horse'];
  for (const name of ['people', 'members', 'staff']) {
    const indexes = [`CREATE UNIQUE INDEX ${name}_nick ON ${name} (nick)`];
    const fields = [text('text_nick', 'nick', { required: true })];
    await group.get(a, 'POST /api/collections', { name, type: 'auth', fields, indexes });
    const account = { nick: 'anna', email, password, passwordConfirm: password };
    await group.get(a, `POST /api/collections/${name}/records`, account);
    const signIn = `POST /api/collections/${name}/auth-with-password`;
    await group.get(b, signIn, { identity: email, password });
    const passwordAuth = { identityFields: ['email', 'nick'] };
    await group.get(a, `PATCH /api/collections/${name}`, { passwordAuth });
    await group.get(b, signIn, { identity: 'anna', password });
  }
});

test('a token is good for a node that has not heard of the collection that its account is in', async (t) => {
  const { group, a, b } = await openPair(t);
  const { token } = group;
  const [email, password] = ['anna@example.com', 'correct horse'];
  const own = 'id = @request.auth.id';
  for (const name of ['people', 'members', 'staff', 'crew']) {
    group.token = token;
    await group.get(a, 'POST /api/collections', { name, type: 'auth', createRule: '', viewRule: own });
    const account = { email, password, passwordConfirm: password };
    const { id } = await group.get(a, `POST /api/collections/${name}/records`, account);
    const signIn = `POST /api/collections/${name}/auth-with-password`;
    ({ token: group.token } = await group.get(a, signIn, { identity: email, password }));
    await group.get(b, `GET /api/collections/${name}/records/${id}`);
  }
});

async function openPair(
  t: TestContext,
): Promise<{ readonly group: NodeGroup; readonly a: App; readonly b: App }> {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  return { group, a, b };
}

function exchanges(one: string, two: string): readonly (readonly [string, string])[] {
  return [
    [two, one],
    [one, two],
    [two, one],
    [one, two],
  ];
}

/** By a view and by a list. */
async function seenBy(group: NodeGroup, app: App): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const view = await group.get(app, `GET ${at}/${id}`);
  const list = await group.get(app, `GET ${at}`);
  return [view, ...list.items];
}
