// Both engines: definitions change tables.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const path = '/api/collections';

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly updated: string;
  readonly system: boolean;
  readonly fields: readonly { readonly name: string }[];
  readonly indexes: readonly string[];
}

class Stage {
  readonly service: TestService;
  constructor(service: TestService) {
    this.service = service;
  }

  import(body: unknown): Promise<TestAnswer> {
    return this.service.request(`${path}/import`, { method: 'PUT', token: true, body });
  }

  async create(body: object): Promise<Shown> {
    const answer = await this.service.request(path, { method: 'POST', token: true, body });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  }

  async all(): Promise<readonly Shown[]> {
    return (await this.service.request(`${path}?perPage=1000`, { token: true })).json.items;
  }

  async view(name: string): Promise<Shown> {
    return (await this.service.request(`${path}/${name}`, { token: true })).json;
  }

  add(name: string, body: object): Promise<TestAnswer> {
    return this.service.request(`${path}/${name}/records`, { method: 'POST', token: true, body });
  }

  async values(name: string, field: string): Promise<readonly unknown[]> {
    const { json } = await this.service.request(`${path}/${name}/records`, { token: true });
    const items: readonly Readonly<Record<string, unknown>>[] = json.items;
    return items.map((item) => item[field]);
  }
}

async function setUp(t: TestContext): Promise<Stage> {
  return new Stage(await startService(t));
}

const text = (name: string): object => ({ name, type: 'text' });

test('the scaffold of a collection makes one, once it has a name', async (t) => {
  const stage = await setUp(t);
  const ask = (token?: true): Promise<TestAnswer> =>
    stage.service.request(`${path}/meta/scaffolds`, token === undefined ? {} : { token });
  assert.equal((await ask()).status, 401);
  const { base, auth } = (await ask(true)).json;
  const members = await stage.create({ ...auth, name: 'members' });
  assert.equal(String(members.indexes), String(auth.indexes).replaceAll('ON ``', 'ON `members`'));
  assert.deepEqual(members.fields.slice(0, -2), auth.fields);
  assert.deepEqual(Object.keys(auth), Object.keys(members));
  assert.deepEqual([base.id, base.name, base.created, base.updated, base.system], ['', '', '', '', false]);
  const made = await stage.create({ ...base, name: 'posts' });
  const plain = await stage.create({ name: 'plain' });
  assert.deepEqual(made.fields, plain.fields);
  const names = (fields: readonly { readonly name: string }[]) => fields.map(({ name }) => name);
  assert.deepEqual(names(base.fields), ['id']);
  assert.deepEqual(names(members.fields.slice(-2)), ['created', 'updated']);
  // A dashboard adds the dates itself.
  const dates = ['created', 'updated'].map((name) => ({
    name,
    type: 'autodate',
    onCreate: true,
    onUpdate: name === 'updated',
  }));
  const dated = await stage.create({ ...base, name: 'dated', fields: [...base.fields, text('a'), ...dates] });
  assert.deepEqual(names(dated.fields), ['id', 'a', 'created', 'updated']);
  assert.deepEqual(Object.keys(base), Object.keys(made));
  // Paths of our own hide no collection.
  for (const name of ['meta', 'import', 'scaffolds', 'truncate']) {
    await stage.create({ name });
    assert.equal((await stage.view(name)).name, name);
    assert.equal((await stage.add(name, {})).status, 201);
  }
});

test('what is listed can be imported again, and changes nothing', async (t) => {
  const stage = await setUp(t);
  const { id } = await stage.create({
    name: 'one',
    fields: [text('a')],
    indexes: ['CREATE INDEX i ON one (a)'],
  });
  await stage.create({
    name: 'two',
    listRule: '',
    fields: [{ name: 'one', type: 'relation', collectionId: id }],
  });
  await stage.add('one', { a: 'x' });
  const before = await stage.all();
  for (const deleteMissing of [false, true, null, undefined]) {
    const answer = await stage.import({ collections: before, deleteMissing });
    assert.deepEqual([answer.status, answer.text], [204, '']);
    assert.deepEqual(await stage.all(), before);
  }
  assert.deepEqual(await stage.values('one', 'a'), ['x']);
});

test('an import makes, changes and deletes, and keeps the data of what stays', async (t) => {
  const stage = await setUp(t);
  const { id } = await stage.create({ name: 'kept', fields: [text('a'), text('b')] });
  await stage.create({ name: 'by_name', fields: [text('a')] });
  await stage.create({ name: 'missing', fields: [text('a')] });
  for (const name of ['kept', 'by_name', 'missing']) await stage.add(name, { a: name, b: 'b' });
  const collections = [
    { id, name: 'renamed', fields: [text('a'), text('c')] },
    { name: 'BY_NAME', listRule: '' },
    { name: 'made', id: 'own_id', fields: [{ name: 'to', type: 'relation', collectionId: id }] },
  ];
  const names = async (): Promise<readonly string[]> =>
    (await stage.all()).filter(({ system }) => !system).map(({ name }) => name);
  const fields = async (name: string): Promise<readonly string[]> =>
    (await stage.view(name)).fields.map((field) => field.name);
  assert.equal((await stage.import({ collections })).status, 204);
  assert.deepEqual(await names(), ['users', 'renamed', 'BY_NAME', 'missing', 'made']);
  // What is not mentioned stays.
  assert.deepEqual(await fields('renamed'), ['id', 'a', 'c', 'b', 'created', 'updated']);
  assert.deepEqual(await fields('BY_NAME'), ['id', 'a', 'created', 'updated']);
  assert.deepEqual(await stage.values('renamed', 'b'), ['b']);
  assert.equal((await stage.view('made')).id, 'own_id');
  assert.equal((await stage.import({ collections, deleteMissing: true })).status, 204);
  assert.deepEqual(await names(), ['renamed', 'BY_NAME', 'made']);
  assert.deepEqual(await fields('renamed'), ['id', 'a', 'c', 'created', 'updated']);
  assert.deepEqual(await stage.values('renamed', 'a'), ['kept']);
  assert.deepEqual(await stage.values('by_name', 'a'), ['by_name']);
});

test('S-13 collections of one import may refer to each other in a ring, and exchange names and indexes', async (t) => {
  const stage = await setUp(t);
  const relation = (collectionId: string): object => ({ name: 'next', type: 'relation', collectionId });
  const index = (name: string): string => `CREATE UNIQUE INDEX ${name} ON x (a)`;
  const ring = [
    { id: 'first', name: 'one', fields: [text('a'), relation('second')], indexes: [index('i')] },
    { id: 'second', name: 'two', fields: [text('a'), relation('third')], indexes: [index('j')] },
    {
      id: 'third',
      name: 'three',
      listRule: "next.next.a = '' || @collection.two.a = ''",
      fields: [text('a'), relation('first')],
      indexes: [index('k')],
    },
  ];
  assert.equal((await stage.import({ collections: ring })).status, 204);
  for (const { id, name } of ring) assert.equal((await stage.add(name, { a: id })).status, 201);
  const names = ['Two', 'THREE', 'one'];
  const indexNames = ['K', 'i', 'j'];
  const turned = ring.map((one, at) => ({ ...one, name: names[at], indexes: [index(indexNames[at] ?? '')] }));
  const answer = await stage.import({ collections: turned });
  assert.equal(answer.status, 204, answer.text);
  for (const { id, name } of turned) {
    assert.deepEqual(await stage.values(name ?? '', 'a'), [id]);
    assert.equal((await stage.add(name ?? '', { a: id })).json.data.a.code, 'validation_not_unique');
  }
  // A table may take the name that an index of another gives up.
  const given = [{ ...turned[0], indexes: [] }, { ...turned[1], name: 'k' }, turned[2]];
  assert.equal((await stage.import({ collections: given })).status, 204);
  assert.deepEqual(await stage.values('K', 'a'), ['second']);
});

const relationTo = (collectionId: string): object => ({
  fields: [{ name: 'to', type: 'relation', collectionId }],
});

/** Each with the members of `data` that tell why. */
const refusals: readonly (readonly [
  what: string,
  body: Readonly<Record<string, unknown>>,
  members: readonly string[],
])[] = [
  ['nothing', {}, ['collections']],
  ['null', { collections: null }, ['collections']],
  ['an empty list', { collections: [] }, ['collections']],
  ['no list', { collections: {} }, ['collections']],
  ['a text', { collections: 'posts' }, ['collections']],
  ['a list of texts', { collections: ['posts'] }, ['collections']],
  ['a list of lists', { collections: [[]] }, ['collections']],
  ['a flag that is none', { collections: [{ name: 'new' }], deleteMissing: 'yes' }, ['deleteMissing']],
  ['more than there can be', { collections: Array.from({ length: 1_001 }, () => ({})) }, ['collections']],
  [
    'more than there can be, with those that are there',
    { collections: Array.from({ length: 999 }, (_, at) => ({ name: `c${at}` })) },
    ['collections'],
  ],
  ['no name', { collections: [{ name: 'new' }, {}] }, ['collections', 'name']],
  ['a name that is no text', { collections: [{ name: 5 }] }, ['collections', 'name']],
  [
    'the same name twice',
    { collections: [{ name: 'new' }, { name: 'NEW', id: 'x' }] },
    ['collections', 'name'],
  ],
  [
    'the same id twice',
    {
      collections: [
        { id: 'x', name: 'new' },
        { id: 'x', name: 'newer' },
      ],
    },
    ['collections', 'id'],
  ],
  [
    'one that exists twice',
    { collections: [{ id: 'target_id', name: 'new' }, { name: 'target' }] },
    ['collections', 'id'],
  ],
  ['the name of one that stays', { collections: [{ id: 'x', name: 'target' }] }, ['collections', 'name']],
  ['an id that is no word', { collections: [{ id: 'a b', name: 'new' }] }, ['collections', 'id']],
  [
    'another type',
    { collections: [{ name: 'new' }, { name: 'target', type: 'auth' }] },
    ['collections', 'type'],
  ],
  ['a view', { collections: [{ name: 'new', type: 'view' }] }, ['collections', 'viewQuery']],
  [
    'an unknown type of field',
    { collections: [{ name: 'new', fields: [{ name: 'a', type: 'nope' }] }] },
    ['collections', 'fields'],
  ],
  [
    'a relation to nothing',
    { collections: [{ name: 'new', ...relationTo('nope') }] },
    ['collections', 'fields'],
  ],
  [
    'a relation to one that goes',
    { collections: [{ name: 'new', ...relationTo('target_id') }], deleteMissing: true },
    ['collections', 'fields'],
  ],
  [
    'a rule about a field that goes',
    { collections: [{ name: 'target', listRule: "a = ''", fields: [] }], deleteMissing: true },
    ['collections', 'listRule'],
  ],
  [
    'an index of another',
    { collections: [{ name: 'new', fields: [text('a')], indexes: ['CREATE INDEX taken ON new (a)'] }] },
    ['collections', 'indexes'],
  ],
  [
    'equal values under a unique index',
    {
      collections: [
        { name: 'new' },
        { name: 'target', indexes: ['CREATE UNIQUE INDEX taken ON target (a)'] },
      ],
      deleteMissing: true,
    },
    ['indexes'],
  ],
  [
    'another system collection',
    { collections: [{ name: 'new' }, { id: 'pbc_3142635823', name: 'root' }] },
    ['collections', 'name'],
  ],
];

test('S-13 an import that is refused changes nothing', async (t) => {
  const stage = await setUp(t);
  const { service } = stage;
  await stage.create({
    id: 'target_id',
    name: 'target',
    fields: [text('a')],
    indexes: ['CREATE INDEX taken ON target (a)'],
  });
  for (const a of ['x', 'x']) await stage.add('target', { a });
  const before = await stage.all();
  const rows = (): Promise<unknown> =>
    service.withInstance('default', ({ database }) =>
      database.all(
        sql`SELECT name, definition FROM ${database.names.table('$collection')} ORDER BY position`,
      ),
    );
  const rowsBefore = await rows();
  for (const [what, body, members] of refusals) {
    const answer = await stage.import(body);
    assert.equal(answer.status, 400, what);
    assert.deepEqual(Object.keys(answer.json.data).toSorted(), members, what);
    assert.match(
      answer.json.message,
      /^(Failed to import collections|An error occurred while validating the submitted data)\.$/,
    );
    assert.deepEqual(await stage.all(), before, what);
    assert.deepEqual(await rows(), rowsBefore, what);
  }
  assert.equal((await stage.import([])).status, 400);
  assert.deepEqual(await stage.values('target', 'a'), ['x', 'x']);
  const failure = (await stage.import({ collections: [{ name: 'new' }, { name: 'é' }] })).json.data;
  assert.deepEqual(failure.collections, {
    code: 'validation_collections_import_failure',
    message: 'The collection at index 1, "é", is refused.',
  });
  assert.equal(failure.name.code, 'validation_match_invalid');
  assert.deepEqual(
    service.log.filter(({ level }) => level === 'error'),
    [],
  );
});

test('an import is for superusers, and system collections outlive the deletion of what is missing', async (t) => {
  const stage = await setUp(t);
  const { service } = stage;
  const { id } = await stage.create({ name: 'posts' });
  const body = { collections: [{ name: 'new' }], deleteMissing: true };
  const guest = await service.request(`${path}/import`, { method: 'PUT', body });
  assert.equal(guest.status, 401);
  const endpoint = { url: 'https://example.com/a', collections: [id] };
  const made = await service.request('/api/webhooks/endpoints', {
    method: 'POST',
    token: true,
    body: endpoint,
  });
  assert.equal((await stage.import(body)).status, 204);
  assert.deepEqual(
    (await stage.all()).map(({ name }) => name),
    ['_superusers', '_externalAuths', '_mfas', '_otps', '_authOrigins', 'new'],
  );
  assert.equal((await stage.add('posts', {})).status, 404);
  // As when it is deleted by itself: nobody is told what they never asked for.
  const shown = await service.request(`/api/webhooks/endpoints/${made.json.id}`, { token: true });
  assert.equal(shown.json.status, 'paused', made.text);
});

test('a plan tells what an import would do, refuses what it would refuse, and changes nothing', async (t) => {
  const stage = await setUp(t);
  const posts = await stage.create({ name: 'posts', fields: [text('title'), text('body')] });
  await stage.create({ name: 'tags' });
  const plan = (body: unknown): Promise<TestAnswer> =>
    stage.service.request(`${path}/import/plan`, { method: 'POST', token: true, body });
  const before = await stage.all();
  const collections = [
    { id: posts.id, name: 'articles', fields: [text('title'), text('intro')] },
    { name: 'notes' },
    { name: 'users' },
  ];
  const { json } = await plan({ collections, deleteMissing: true });
  const names = (list: readonly { readonly name: string }[]): readonly string[] =>
    list.map(({ name }) => name);
  assert.deepEqual([names(json.created), names(json.deleted)], [['notes'], ['tags']]);
  const [change] = json.changed;
  assert.deepEqual([json.changed.length, change.before.name, change.after.name], [1, 'posts', 'articles']);
  assert.deepEqual(names(change.after.fields), ['id', 'title', 'intro', 'created', 'updated']);
  const kept = await plan({ collections });
  assert.deepEqual(kept.json.deleted, []);
  const refused = { collections: [{ name: 'notes', fields: [{ name: 'x', type: 'int' }] }] };
  const { status, json: problems } = await plan(refused);
  assert.deepEqual([status, problems], [400, (await stage.import(refused)).json]);
  assert.deepEqual(await stage.all(), before);
});

test('an import is about at most 10,000 collections, fields, indexes and rules', async (t) => {
  const stage = await setUp(t);
  const rule = {
    listRule: 'f0 != ""',
    viewRule: 'f0 != ""',
    createRule: null,
    updateRule: '',
    deleteRule: 'id != ""',
  };
  const wide = Array.from({ length: 20 }, (_, at) => ({
    name: `wide_${at}`,
    ...rule,
    fields: Array.from({ length: 492 }, (_, field) => text(`f${field}`)),
    indexes: Array.from(
      { length: 4 },
      (_, field) => `CREATE INDEX i_${at}_${field} ON wide_${at} (f${field})`,
    ),
  }));
  const ask = (method: string, at: string, collections: readonly object[]): Promise<TestAnswer> =>
    stage.service.request(`${path}/import${at}`, { method, token: true, body: { collections } });
  const whole = await ask('POST', '/plan', wide);
  assert.equal(whole.json.created?.length, 20, whole.text);
  const before = await stage.all();
  const more = [...wide, { name: 'one_more' }];
  for (const refused of [await ask('PUT', '', more), await ask('POST', '/plan', more)]) {
    assert.equal(refused.status, 400);
    const { code, message, params } = refused.json.data.collections;
    assert.equal(code, 'validation_length_too_long');
    assert.match(message, /at most 10000 .* about 10001:/);
    assert.deepEqual(params, { max: 10_000, count: 10_001 });
  }
  assert.deepEqual(await stage.all(), before);
});
