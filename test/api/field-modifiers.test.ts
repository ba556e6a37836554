// Both engines: values are changed in SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventsOf } from '../support/events-of.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const records = '/api/collections/posts/records';
const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
const fields = [
  { name: 'views', type: 'number', max: 1e308 },
  { name: 'tag', type: 'select', values: ['a', 'b'] },
  { name: 'tags', type: 'select', values: ['a', 'b', 'c'], maxSelect: 2 },
  { name: 'code', type: 'text', autogeneratePattern: '[0-9]{4}' },
  { name: 'done', type: 'bool' },
  { name: '__proto__', type: 'number' },
  { name: 'secret', type: 'number', hidden: true },
];

async function setUp(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const body = { name: 'posts', ...open, fields };
  const made = await service.request('/api/collections', { method: 'POST', token: true, body });
  assert.equal(made.status, 200, made.text);
  return service;
}

type Body = string | Readonly<Record<string, unknown>>;

function add(service: TestService, body: Body): Promise<TestAnswer> {
  return service.request(records, { method: 'POST', body });
}

function change(service: TestService, id: string, body: Body): Promise<TestAnswer> {
  return service.request(`${records}/${id}`, { method: 'PATCH', body });
}

test('a modifier starts from what is stored, or from the whole value that came along', async (t) => {
  const service = await setUp(t);
  const made = await add(service, { 'views+': 5, 'tags+': ['a', 'b'], 'code:autogenerate': 'A-' });
  assert.equal(made.status, 201, made.text);
  const { id, views, tags, code } = made.json;
  assert.deepEqual([views, tags], [5, ['a', 'b']]);
  assert.match(code, /^A-\d{4}$/);
  const steps: readonly (readonly [Body, string, unknown])[] = [
    [{ 'views-': 2 }, 'views', 3],
    [{ 'views+': '1.5' }, 'views', 4.5],
    // The whole value first, however the keys are ordered.
    [{ 'views+': 1, views: 10 }, 'views', 11],
    [{ 'views-': 1, 'views+': 2 }, 'views', 12],
    [{ '+tags': 'c', 'tags-': ['b'] }, 'tags', ['c', 'a']],
    [{ 'tags-': ['a', 'c'], 'tags+': 'b' }, 'tags', ['b']],
    [{ 'tags+': 'a', tags: ['c'] }, 'tags', ['c', 'a']],
    [{ 'tag+': 'a' }, 'tag', 'a'],
    [{ 'tag-': 'a' }, 'tag', ''],
    ['{"__proto__+": 3}', '__proto__', 3],
  ];
  for (const [body, name, value] of steps) {
    const { json, text } = await change(service, id, body);
    assert.deepEqual(Object.getOwnPropertyDescriptor(json, name)?.value, value, text);
  }
  assert.match((await change(service, id, { code: 'x', 'code:autogenerate': 'B-' })).json.code, /^B-\d{4}$/);
  const events = await eventsOf(service, id);
  assert.deepEqual(
    events.map(({ data }) => data['views']),
    [5, 3, 4.5, 11, 12, 12, 12, 12, 12, 12, 12, 12],
  );
  const same = await change(service, id, { 'views+': 0, '+tags': [], 'tags-': 'b' });
  assert.equal(same.status, 200);
  assert.equal((await eventsOf(service, id)).length, events.length, 'nothing changed');
});

test('the result of a modifier is checked like any value, under the name of its field', async (t) => {
  const service = await setUp(t);
  const { json } = await add(service, { views: 1e308, tags: ['a', 'b'] });
  for (const [body, name, code] of [
    [{ 'views+': 1e308 }, 'views', 'validation_not_a_number'],
    [{ 'views-': 'inf' }, 'views', 'validation_not_a_number'],
    [{ 'tags+': 'c' }, 'tags', 'validation_too_many_values'],
    [{ 'tag+': 'x' }, 'tag', 'validation_invalid_value'],
    [{ 'id:autogenerate': 'x' }, 'id', 'validation_pk_change'],
  ] as const) {
    const refused = await change(service, json.id, body);
    assert.deepEqual([refused.status, refused.json.data[name]?.code], [400, code]);
  }
  const long = await add(service, { 'id:autogenerate': 'x' });
  assert.deepEqual([long.status, long.json.data.id.code], [400, 'validation_max_text_constraint']);
  assert.match((await add(service, { 'id:autogenerate': '' })).json.id, /^[a-z0-9]{15}$/);
});

test('I-15 a modifier that a field has not is refused by its key, and what only looks like one is unknown', async (t) => {
  const service = await setUp(t);
  for (const key of ['+views', 'code+', 'done-', 'tags:autogenerate', 'created+', 'id-']) {
    const refused = await add(service, { [key]: 'a' });
    assert.deepEqual([refused.status, Object.keys(refused.json.data)], [400, [key]]);
  }
  const known = await add(service, { 'tags:autogenerate': 'a' });
  assert.deepEqual(known.json.data['tags:autogenerate'], {
    code: 'validation_invalid_value',
    message: 'A field of type select has no such modifier: it has tags+, +tags, tags-.',
  });
  const strange = ['nothing+', '+', '-', '++', 'views++', '+views+', '+-', ':autogenerate', 'views:isset', 'constructor+', 'éé+', '+ views', 'x'.repeat(100_000) + '+'];
  for (const key of strange) {
    const taken = await add(service, { [key]: 1 });
    assert.equal(taken.status, 201, key.slice(0, 20));
    assert.deepEqual([taken.json.views, taken.json.tags], [0, []]);
  }
}); // prettier-ignore

// prettier-ignore

test('I-15 to all but superusers a hidden field has no modifiers, as it is no field', async (t) => {
  const service = await setUp(t);
  const { json } = await service.request(records, { method: 'POST', token: true, body: { 'secret+': 3 } });
  assert.equal(json.secret, 3);
  for (const key of ['secret+', 'secret-', '+secret', 'secret:autogenerate'])
    assert.equal((await change(service, json.id, { [key]: 1 })).status, 200, key);
  const shown = await service.request(`${records}/${json.id}`, { token: true });
  assert.equal(shown.json.secret, 3);
});

test('I-13 what many add at the same time is all there in the end', async (t) => {
  const service = await setUp(t);
  const { json } = await add(service, {});
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => change(service, json.id, { 'views+': 1 })),
  );
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  assert.equal((await service.request(`${records}/${json.id}`)).json.views, 100);
});
