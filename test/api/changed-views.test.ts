// Both engines: tables are altered below views, each in its own way.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startService, type TestAnswer } from '../support/service.ts';

/** Sends `METHOD /path` as a superuser. Fails unless the answer has this status. */
type Call = (status: number, request: string, body?: unknown) => Promise<TestAnswer['json']>;

interface FieldOf {
  readonly name: string;
  readonly maxSelect?: number;
}

const all = '/api/collections';

async function setUp(t: TestContext): Promise<Call> {
  const service = await startService(t);
  const call: Call = async (status, request, body) => {
    const [method = '', path = ''] = request.split(' ');
    const answer = await service.request(path, { method, token: true, ...(body !== undefined && { body }) });
    assert.equal(answer.status, status, `${request} ${answer.text}`);
    return answer.json;
  };
  const fields = [
    { name: 'title', type: 'text' },
    { name: 'tags', type: 'select', values: ['a', 'b'], maxSelect: 1 },
    { name: 'note', type: 'text' },
  ];
  await call(200, `POST ${all}`, { name: 'posts', fields });
  await call(201, `POST ${all}/posts/records`, { title: 'one', tags: 'a', note: 'x' });
  const viewQuery = 'SELECT id, title, tags FROM posts';
  await call(200, `POST ${all}`, { name: 'titles', type: 'view', viewQuery });
  const deeper = 'SELECT id, tags, title AS heading FROM titles';
  await call(200, `POST ${all}`, { name: 'headings', type: 'view', viewQuery: deeper });
  return call;
}

async function fieldsOf(call: Call, collection: string): Promise<readonly FieldOf[]> {
  return (await call(200, `GET ${all}/${collection}`)).fields;
}

/** Returns the members of the only record of a view. */
async function shown(call: Call, view: string): Promise<Readonly<Record<string, unknown>>> {
  return (await call(200, `GET ${all}/${view}/records`)).items[0];
}

test('a field that a view does not read is renamed, added and removed below it', async (t) => {
  const call = await setUp(t);
  const fields = await fieldsOf(call, 'posts');
  const changed = fields.map((field) => (field.name === 'note' ? { ...field, name: 'memo' } : field));
  await call(200, `PATCH ${all}/posts`, { fields: [...changed, { name: 'more', type: 'number' }] });
  await call(200, `PATCH ${all}/posts`, { fields: changed.filter(({ name }) => name !== 'memo') });
  assert.equal((await shown(call, 'headings'))['heading'], 'one');
  await call(200, `PATCH ${all}/posts`, { listRule: '' });
  assert.equal((await shown(call, 'titles'))['title'], 'one');
});

test('a change or deletion that would break a view is refused and names the view', async (t) => {
  const call = await setUp(t);
  const without = (await fieldsOf(call, 'posts')).filter(({ name }) => name !== 'title');
  const titles = { name: 'titles', type: 'view', viewQuery: 'SELECT id, title FROM posts' };
  const refused = [
    await call(400, `PATCH ${all}/posts`, { fields: without }),
    await call(400, `PATCH ${all}/posts`, { fields: [...without, { name: 'heading', type: 'text' }] }),
    await call(400, `PATCH ${all}/posts`, { name: 'articles' }),
    await call(400, `PUT ${all}/import`, {
      collections: [{ name: 'posts', fields: without }, titles],
      deleteMissing: true,
    }),
    await call(400, `DELETE ${all}/posts`),
  ];
  for (const { message, data } of refused) assert.match(`${message} ${JSON.stringify(data)}`, /titles/);
  assert.equal((await shown(call, 'headings'))['heading'], 'one');
});

test('a view gets the new form of a field, and so do views of it', async (t) => {
  const call = await setUp(t);
  const fields = await fieldsOf(call, 'posts');
  const several = fields.map((field) => (field.name === 'tags' ? { ...field, maxSelect: 2 } : field));
  await call(200, `PATCH ${all}/posts`, { fields: several });
  for (const view of ['titles', 'headings']) {
    assert.deepEqual((await shown(call, view))['tags'], ['a']);
    const tags = (await fieldsOf(call, view)).find(({ name }) => name === 'tags');
    assert.equal(tags?.maxSelect, 2);
  }
});

test('a view is changed, renamed and deleted, and its id stays', async (t) => {
  const call = await setUp(t);
  const { id } = await call(200, `GET ${all}/headings`);
  const viewQuery = 'SELECT id, title AS name FROM posts';
  await call(200, `PATCH ${all}/headings`, { name: 'named', viewQuery });
  assert.equal((await shown(call, 'named'))['name'], 'one');
  assert.equal((await call(200, `GET ${all}/named`)).id, id);
  await call(400, `PATCH ${all}/named`, { viewQuery: 'SELECT id FROM named' });
  await call(204, `DELETE ${all}/named`);
  await call(404, `GET ${all}/named`);
  await call(204, `DELETE ${all}/titles`);
  await call(204, `DELETE ${all}/posts`);
});

test('an import makes views after what they read, and a second one changes nothing', async (t) => {
  const call = await setUp(t);
  const bills = { name: 'bills', fields: [{ name: 'amount', type: 'number' }] };
  const collections = [
    { name: 'deep', type: 'view', viewQuery: 'SELECT id, amount FROM middle' },
    { name: 'middle', type: 'view', viewQuery: 'SELECT id, amount FROM bills' },
    bills,
  ];
  const plan = await call(200, `POST ${all}/import/plan`, { collections });
  assert.equal(plan.created.length, 3);
  await call(204, `PUT ${all}/import`, { collections });
  await call(201, `POST ${all}/bills/records`, { amount: 5 });
  assert.equal((await shown(call, 'deep'))['amount'], 5);
  const again = await call(200, `POST ${all}/import/plan`, { collections });
  assert.deepEqual([again.created.length, again.changed.length], [0, 0]);
  const wide = { ...bills, fields: [{ name: 'amount', type: 'number', onlyInt: true }] };
  await call(204, `PUT ${all}/import`, { collections: [wide] });
  assert.deepEqual(
    (await fieldsOf(call, 'deep')).map((field) => JSON.stringify(field).includes('"onlyInt":true')),
    [false, true],
  );
  const broken = [{ name: 'late', type: 'view', viewQuery: 'SELECT id FROM nowhere' }];
  const { data } = await call(400, `PUT ${all}/import`, { collections: broken });
  assert.equal(data.viewQuery.code, 'validation_invalid_view_query');
});

test('rules and filters of other collections lead to no view', async (t) => {
  const call = await setUp(t);
  for (const listRule of ['@collection.titles.id != ""', 'titles_via_id.id != ""']) {
    const { data } = await call(400, `PATCH ${all}/posts`, { listRule });
    assert.equal(data.listRule.code, 'validation_invalid_rule');
  }
  const filter = `filter=${encodeURIComponent('@collection.titles.id ?= id')}`;
  await call(400, `GET ${all}/posts/records?${filter}`);
  assert.equal((await call(200, `GET ${all}/headings/records?${filter}`)).totalItems, 1);
  await call(200, `PATCH ${all}/headings`, { listRule: '@collection.titles.id ?= id' });
});
