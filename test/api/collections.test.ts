// Both engines: collections are tables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { assertReopens } from '../support/assert-reopens.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const path = '/api/collections';

function create(service: TestService, body: unknown): Promise<TestAnswer> {
  return service.request(path, { method: 'POST', token: true, body });
}

function text(name: string, more: object = {}): object {
  return { name, type: 'text', ...more };
}

test('a collection is created, listed, viewed by name in any case and by id, updated and deleted', async (t) => {
  const service = await startService(t);
  const made = await create(service, { name: 'Posts', fields: [text('title')] });
  assert.equal(made.status, 200);
  const { created, updated } = made.json;
  const id: string = made.json.id;
  assert.equal(id, `pbc_${crc32('basePosts')}`);
  const standard = { help: '', hidden: false, presentable: false };
  const date = (name: string, fieldId: string, onUpdate: boolean): object => ({
    hidden: false,
    id: fieldId,
    name,
    onCreate: true,
    onUpdate,
    presentable: false,
    system: false,
    type: 'autodate',
  });
  assert.equal(
    made.text,
    JSON.stringify({
      id,
      listRule: null,
      viewRule: null,
      createRule: null,
      updateRule: null,
      deleteRule: null,
      name: 'Posts',
      type: 'base',
      fields: [
        {
          autogeneratePattern: '[a-z0-9]{15}',
          ...standard,
          id: 'text3208210256',
          max: 15,
          min: 15,
          name: 'id',
          pattern: '^[a-z0-9]+$',
          presentable: false,
          primaryKey: true,
          required: true,
          system: true,
          type: 'text',
        },
        {
          autogeneratePattern: '',
          ...standard,
          id: 'text724990059',
          max: 0,
          min: 0,
          name: 'title',
          pattern: '',
          presentable: false,
          primaryKey: false,
          required: false,
          system: false,
          type: 'text',
        },
        date('created', 'autodate2990389176', false),
        date('updated', 'autodate3332085495', true),
      ].map((field) =>
        Object.fromEntries(Object.entries(field).toSorted(([one], [other]) => (one < other ? -1 : 1))),
      ),
      indexes: [],
      created,
      updated,
      system: false,
    }),
  );
  for (const name of ['Posts', 'posts', 'POSTS', id]) {
    const shown = await service.request(`${path}/${name}`, { token: true });
    assert.equal(shown.text, made.text, name);
  }
  assert.equal((await service.request(`${path}/${id.toUpperCase()}`, { token: true })).status, 404);
  const listed = await service.request(`${path}?filter=system=false%26%26type='base'&sort=-created`, {
    token: true,
  });
  assert.deepEqual(
    { ...listed.json, items: listed.json.items.length },
    { items: 1, page: 1, perPage: 30, totalItems: 1, totalPages: 1 },
  );
  const changed = await service.request(`${path}/posts`, {
    method: 'PATCH',
    token: true,
    body: { listRule: '' },
  });
  assert.deepEqual({ ...changed.json, updated }, { ...made.json, listRule: '' });
  const gone = await service.request(`${path}/${id}`, { method: 'DELETE', token: true });
  assert.deepEqual([gone.status, gone.text, gone.headers.get('content-type')], [204, '', null]);
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const answer = await service.request(`${path}/posts`, {
      method,
      token: true,
      ...(method === 'PATCH' ? { body: {} } : {}),
    });
    assert.deepEqual(
      [answer.status, answer.text],
      [404, '{"data":{},"message":"The requested resource wasn\'t found.","status":404}'],
    );
  }
});

test('definitions are for superusers: everyone else gets 401, before anything is looked at', async (t) => {
  const service = await startService(t);
  for (const [method, at] of [
    ['GET', path],
    ['POST', path],
    ['GET', `${path}/_superusers`],
    ['PATCH', `${path}/nope`],
    ['DELETE', `${path}/_superusers`],
  ] as const) {
    for (const token of [undefined, 'nonsense', `${service.superuser.token}x`]) {
      const answer = await service.request(at, {
        method,
        ...(token === undefined ? {} : { token }),
        ...(method === 'GET' ? {} : { body: { name: 5 } }),
      });
      assert.deepEqual(
        [answer.status, answer.json.message],
        [401, 'The request requires valid record authorization token.'],
      );
    }
  }
});

test('a collection id is a word that no other id and no name is, in any case', async (t) => {
  const service = await startService(t);
  assert.equal((await create(service, { name: 'first', id: 'MyId' })).json.id, 'MyId');
  for (const id of ['MyId', 'myid', 'MYID', 'first', 'FIRST', 'pbc_3142635823', 'PBC_3142635823'])
    assert.equal(
      (await create(service, { name: 'second', id })).json.data.id?.code,
      'validation_invalid_or_existing_id',
      id,
    );
  for (const id of ['a b', 'a/b', '..', 5, {}, 'a'.repeat(101), 'é', '$x'])
    assert.equal(
      (await create(service, { name: 'second', id })).json.data.id?.code,
      'validation_match_invalid',
      JSON.stringify(id),
    );
  const kept = await service.request(`${path}/first`, {
    method: 'PATCH',
    token: true,
    body: { id: 'other', created: '', system: false },
  });
  assert.deepEqual([kept.json.id, kept.json.system], ['MyId', false]);
  assert.equal((await create(service, { name: 'third', system: true })).json.system, false);
  for (const [name, system] of [
    ['first', true],
    ['first', 'no'],
    ['_superusers', false],
  ] as const) {
    const refused = await service.request(`${path}/${name}`, {
      method: 'PATCH',
      token: true,
      body: { system },
    });
    assert.equal(refused.json.data.system.code, 'validation_collection_system_flag_change');
  }
  await assertReopens(t, service);
});

test('Q-53 a rule is null, an empty text or a filter that compiles; all else is refused', async (t) => {
  const service = await startService(t);
  for (const rule of ['listRule', 'viewRule', 'createRule', 'updateRule', 'deleteRule']) {
    for (const value of ["nope != ''", ' ', '\t', 'true', 'id = ', 0, false, {}, []]) {
      const answer = await create(service, { name: 'ruled', [rule]: value });
      assert.equal(
        answer.json.data[rule]?.code,
        'validation_invalid_rule',
        `${rule} ${JSON.stringify(value)}`,
      );
      assert.match(answer.json.data[rule].message, /^Invalid rule\. /);
    }
  }
  const made = await create(service, { name: 'ruled', viewRule: '', listRule: null, updateRule: "id != ''" });
  assert.deepEqual(
    [made.json.viewRule, made.json.listRule, made.json.createRule, made.json.updateRule],
    ['', null, null, "id != ''"],
  );
  for (const [type, message] of [
    ['nope', /valid value/],
    [5, /valid value/],
  ] as const)
    assert.match((await create(service, { name: 'typed', type })).json.data.type.message, message);
});

test('all problems of a definition are told at once, and none of it is kept', async (t) => {
  const service = await startService(t);
  const before = await service.request(path, { token: true });
  const answer = await create(service, {
    name: 'é',
    type: 'nope',
    listRule: 5,
    id: '$',
    fields: [text('é')],
    indexes: ['x'],
  });
  assert.deepEqual(Object.keys(answer.json.data), ['name', 'type', 'id', 'fields', 'listRule', 'indexes']);
  assert.equal(answer.json.message, 'Failed to create collection.');
  assert.equal((await service.request(path, { token: true })).text, before.text);
});

test('the list of collections compares names by their bytes, letter case and all', async (t) => {
  const service = await startService(t);
  for (const name of ['beta', 'Alpha', '_gamma']) {
    const made = await service.request(path, { method: 'POST', token: true, body: { name } });
    assert.equal(made.status, 200, made.text);
  }
  const find = async (query: string): Promise<string> => {
    const { json } = await service.request(`${path}?${query}&fields=name`, { token: true });
    // As it was asked for.
    const items = json.items as readonly { readonly name: string }[];
    return items.map(({ name }) => name).join(' ');
  };
  const own = "(name~'alpha'||name~'beta'||name~'gamma')%26%26";
  assert.equal(await find(`filter=${own}id!=''&sort=name`), 'Alpha _gamma beta');
  assert.equal(await find(`filter=${own}id!=''&sort=-name`), 'beta _gamma Alpha');
  assert.equal(await find(`filter=${own}name<'a'`), 'Alpha _gamma');
  assert.equal(await find("filter=name='ALPHA'"), '');
  assert.equal(await find(`filter=${own}name!='ALPHA'`), 'beta Alpha _gamma');
});
