// Both engines: lists of ids are stored and filtered by SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventsOf } from '../support/events-of.ts';
import { startService, type TestAnswer } from '../support/service.ts';

const [one, two, three] = ['author000000001', 'author000000002', 'author000000003'] as const;

/** A service with a collection of authors that has the records `one`, `two` and `three`. */
async function setUp(t: TestContext) {
  const service = await startService(t);
  const ask = (method: string, path: string, body?: object): Promise<TestAnswer> =>
    service.request(`/api/collections${path}`, { method, token: true, ...(body && { body }) });
  const { json: authors } = await ask('POST', '', { name: 'authors' });
  for (const id of [one, two, three]) await ask('POST', '/authors/records', { id });
  return { service, ask, authors: String(authors.id) };
}

function itemsOf(answer: TestAnswer): readonly Readonly<Record<string, unknown>>[] {
  return answer.json.items;
}

test('relations are made, changed, filtered, sorted and told of in events', async (t) => {
  const { service, ask, authors } = await setUp(t);
  const collectionId = authors;
  const fields = [
    { name: 'author', type: 'relation', collectionId },
    { name: 'readers', type: 'relation', collectionId, maxSelect: 2 },
  ];
  const { json: posts } = await ask('POST', '', { name: 'posts', fields });
  assert.deepEqual(posts.fields[1], {
    cascadeDelete: false,
    collectionId,
    help: '',
    hidden: false,
    id: 'relation3182418120',
    maxSelect: 0,
    minSelect: 0,
    name: 'author',
    presentable: false,
    required: false,
    system: false,
    type: 'relation',
  });
  const made = await ask('POST', '/posts/records', { author: [one, two], readers: [two, one, two] });
  assert.deepEqual([made.json.author, made.json.readers], [two, [two, one]]);
  const { id } = made.json;
  const changed = await ask('PATCH', `/posts/records/${id}`, { author: one, readers: `["${three}"]` });
  assert.deepEqual([changed.json.author, changed.json.readers], [one, [three]]);
  assert.equal((await ask('GET', `/posts/records/${id}`)).text, changed.text);
  const empty = await ask('POST', '/posts/records', {});
  assert.deepEqual([empty.json.author, empty.json.readers], ['', []]);
  const idsOf = async (query: string): Promise<readonly unknown[]> =>
    itemsOf(await ask('GET', `/posts/records?${query}`)).map((item) => item['id']);
  assert.deepEqual(await idsOf(`filter=author='${one}'`), [id]);
  assert.deepEqual(await idsOf(`filter=readers~'${three}'`), [id]);
  assert.deepEqual(await idsOf("filter=author=''"), [empty.json.id]);
  assert.deepEqual(await idsOf('sort=-author'), [id, empty.json.id]);
  const events = await eventsOf(service, id);
  assert.deepEqual(
    events.map(({ data }) => [data['author'], data['readers']]),
    [
      [two, [two, one]],
      [one, [three]],
    ],
  );
  const tooMany = await ask('PATCH', `/posts/records/${id}`, { readers: [one, two, three] });
  assert.deepEqual(tooMany.json.data.readers, {
    code: 'validation_too_many_values',
    message: 'Select no more than 2.',
    params: { maxSelect: 2 },
  });
});

test('I-11 what no record can have for an id is refused before a database sees it', async (t) => {
  const { ask, authors } = await setUp(t);
  const fields = [{ name: 'authors', type: 'relation', collectionId: authors, maxSelect: 2 }];
  await ask('POST', '', { name: 'posts', fields });
  for (const value of ['["\\u0000"]', '["\\ud800"]', 'x'.repeat(256)]) {
    const refused = await ask('POST', '/posts/records', { authors: value });
    assert.equal(refused.status, 400, refused.text);
    assert.equal(refused.json.data.authors.code, 'validation_missing_rel_records');
  }
});

test('what is wrong with a value and what a relation does not find are told at once', async (t) => {
  const { ask, authors: collectionId } = await setUp(t);
  const fields = [
    { name: 'author', type: 'relation', collectionId },
    { name: 'readers', type: 'relation', collectionId, maxSelect: 2 },
    { name: 'title', type: 'text', required: true },
  ];
  await ask('POST', '', { name: 'posts', fields });
  const { id } = (await ask('POST', '/posts/records', { title: 'a', author: one })).json;
  const wrong = { title: '', author: 'nobody', readers: ['nobody', one, two] };
  for (const [method, path] of [
    ['POST', ''],
    ['PATCH', `/${id}`],
  ] as const) {
    const { status, json } = await ask(method, `/posts/records${path}`, wrong);
    const codes = Object.fromEntries(Object.keys(json.data).map((name) => [name, json.data[name].code]));
    const expected = {
      title: 'validation_required',
      author: 'validation_missing_rel_records',
      readers: 'validation_too_many_values',
    };
    assert.deepEqual([status, codes], [400, expected], method);
  }
});

test('a relation leads to a collection that exists, its own too, and never to another one later', async (t) => {
  const { ask, authors } = await setUp(t);
  const relation = (collectionId: unknown): object => ({
    fields: [{ id: 'parent', name: 'parent', type: 'relation', collectionId }],
  });
  const codeOf = ({ json }: TestAnswer): unknown => json.data?.fields?.['1'].collectionId.code;
  const missing = 'validation_field_relation_missing_collection';
  // Ids only: names change.
  for (const [index, collectionId] of ['nope', 'authors', authors.toUpperCase()].entries())
    assert.equal(codeOf(await ask('POST', '', { name: `c${index}`, ...relation(collectionId) })), missing);
  assert.equal(codeOf(await ask('POST', '', { name: 'c', ...relation('') })), 'validation_required');
  const tree = await ask('POST', '', { id: 'tree', name: 'trees', ...relation('tree') });
  assert.equal(tree.status, 200, tree.text);
  assert.equal((await ask('PATCH', '/trees', { name: 'woods' })).status, 200);
  const changed = await ask('PATCH', '/woods', relation(authors));
  assert.deepEqual([changed.status, codeOf(changed)], [400, 'validation_field_relation_change']);
  assert.equal((await ask('PATCH', '/woods', relation('tree'))).status, 200);
});

test('a relation that becomes multiple, and single again, keeps its ids', async (t) => {
  const { ask, authors } = await setUp(t);
  const field = (maxSelect: number): object => ({
    fields: [{ id: 'author', name: 'author', type: 'relation', collectionId: authors, maxSelect }],
  });
  await ask('POST', '', { name: 'posts', ...field(1) });
  for (const author of ['', one]) await ask('POST', '/posts/records', { author });
  const shown = async (): Promise<readonly unknown[]> =>
    itemsOf(await ask('GET', '/posts/records')).map((item) => item['author']);
  assert.equal((await ask('PATCH', '/posts', field(2))).status, 200);
  assert.deepEqual(await shown(), [[], [one]]);
  await ask('POST', '/posts/records', { author: [one, two] });
  assert.equal((await ask('PATCH', '/posts', field(0))).status, 200);
  assert.deepEqual(await shown(), ['', one, two]);
});
