import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const path = '/api/openapi.json';

/** A service whose superuser asks. */
async function setUp(t: TestContext): Promise<{ readonly service: TestService; readonly ask: Ask }> {
  const service = await startService(t);
  const ask: Ask = (method, at, body) =>
    service.request(at, { method, token: true, ...(body === undefined ? {} : { body }) });
  return { service, ask };
}

type Ask = (method: string, at: string, body?: unknown) => Promise<TestAnswer>;

async function make(ask: Ask, definition: object): Promise<string> {
  const { status, text, json } = await ask('POST', '/api/collections', definition);
  assert.equal(status, 200, text);
  return String(json.id);
}

/** Compiles schemas of a document by their names. */
function schemasOf(document: Readonly<Record<string, unknown>>): (name: string) => ValidateFunction {
  const ajv = new Ajv2020({
    strict: true,
    strictTypes: false,
    strictRequired: false,
    validateSchema: false,
    validateFormats: false,
  });
  ajv.addVocabulary([...Object.keys(document), 'discriminator']);
  ajv.addSchema(document, 'document');
  return (name) => ajv.compile({ $ref: `document#/components/schemas/${name}` });
}

test('superusers are shown the collections of their instance, guests are not', async (t) => {
  const { service, ask } = await setUp(t);
  const secret = { name: 'note', type: 'text', hidden: true, help: 'For us.' };
  await make(ask, {
    name: 'posts',
    listRule: 'title != "`"',
    viewRule: '',
    fields: [{ name: 'title', type: 'text' }, secret],
  });
  const { json, text } = await ask('GET', path);
  const checked = await new Validator().validate(structuredClone(json));
  assert.ok(checked.valid, JSON.stringify(checked.errors));
  const { paths, components } = json;
  const [many, one] = [paths['/api/collections/posts/records'], paths['/api/collections/posts/records/{id}']];
  assert.deepEqual(Object.keys(many), ['get', 'post']);
  assert.deepEqual(Object.keys(one), ['get', 'patch', 'delete']);
  assert.equal(many.get.description, 'Rule: `` title != "`" ``');
  assert.deepEqual([one.get.description, many.post.description], ['Everyone.', 'Superusers only.']);
  const record = components.schemas['posts.Record'];
  assert.deepEqual(record.required, ['collectionId', 'collectionName', 'id', 'title', 'created', 'updated']);
  assert.equal(record.properties.note.description, 'For us. Hidden: of superusers only.');
  assert.deepEqual(Object.keys(paths['/api/collections/_superusers/records']), ['get', 'post']);
  const account = components.schemas['_superusers.Record'];
  const required: readonly string[] = account.required;
  assert.ok('email' in account.properties && !required.includes('email'), 'an address may be hidden');
  assert.ok('passwordConfirm' in components.schemas['_superusers.Create'].properties);
  assert.ok(!('passwordConfirm' in components.schemas['posts.Create'].properties));
  const asGuest = await service.request(path);
  assert.ok(!asGuest.text.includes('posts.Record') && text.includes('posts.Record'));
});

test('what is kept apart from a record stands in no schema of an answer', async (t) => {
  const { ask } = await setUp(t);
  const { properties } = (await ask('GET', path)).json.components.schemas['_superusers.Record'];
  const { items } = (await ask('GET', '/api/collections/_superusers/records')).json;
  assert.deepEqual(Object.keys(properties), [...Object.keys(items[0]), 'expand']);
});

test('ids of operations stay unique, whatever collections are called', async (t) => {
  const { ask } = await setUp(t);
  for (const name of ['ByAlias', '_ByAlias', 'records', 'Error', 'meta']) await make(ask, { name });
  const { json } = await ask('GET', path);
  const items: readonly object[] = Object.values(json.paths);
  const ids = items.flatMap((item) => Object.values(item).map((operation) => String(operation.operationId)));
  assert.equal(new Set(ids).size, ids.length);
  const checked = await new Validator().validate(json);
  assert.ok(checked.valid, JSON.stringify(checked.errors));
});

test('the document of an instance follows its definitions, and its tag with it', async (t) => {
  const { service, ask } = await setUp(t);
  const id = await make(ask, { name: 'posts' });
  const first = await ask('GET', path);
  const known = { 'if-none-match': first.headers.get('etag') ?? '' };
  assert.equal((await service.request(path, { token: true, headers: known })).status, 304);
  assert.equal((await service.request(path, { headers: known })).status, 200, 'a guest gets another one');
  assert.equal((await ask('PATCH', `/api/collections/${id}`, { name: 'notes' })).status, 200);
  const second = await service.request(path, { token: true, headers: known });
  assert.equal(second.status, 200);
  assert.ok(
    'notes.Record' in second.json.components.schemas && !('posts.Record' in second.json.components.schemas),
  );
  assert.equal((await ask('DELETE', `/api/collections/${id}`)).status, 204);
  assert.ok(!(await ask('GET', path)).text.includes('notes.Record'));
});

test('fields above the limit are left out, and the document says so', async (t) => {
  const { ask } = await setUp(t);
  const fields = Array.from({ length: 497 }, (_, at) => ({ name: `f${at}`, type: 'bool' }));
  const collections = Array.from({ length: 10 }, (_, at) => ({ name: `c${at}`, fields }));
  assert.equal((await ask('PUT', '/api/collections/import', { collections })).status, 204);
  const { json } = await ask('GET', path);
  const names = Object.keys(json.components.schemas).filter((name) => /^c\d+\.Record$/.test(name));
  // Nine of 500 fields, and beside them those of the system collections.
  assert.equal(names.length, 9);
  assert.match(json.info.description, /1 collections are left out/);
});

/** Options of a field, values that are accepted as they are, and values that are refused. */
const contract: readonly (readonly [
  options: object,
  accepted: readonly unknown[],
  refused: readonly unknown[],
])[] = [
  [{ type: 'text' }, ['', 'a', 'x'.repeat(5000)], ['x'.repeat(5001)]],
  [{ type: 'text', min: 2, max: 3, pattern: '^[a-zé😀]+$' }, ['', 'ab', 'é😀a'], ['a', 'abcd', 'AB']],
  [{ type: 'text', min: 2, required: true }, ['ab'], ['', 'a']],
  [{ type: 'text', pattern: '(?i)^a\\pL$' }, ['', 'AB'], []],
  [{ type: 'number' }, [0, -1.5, 1e21], []],
  [{ type: 'number', min: 3, max: 10, onlyInt: true }, [0, 3, 10], [2, 11, 3.5]],
  [{ type: 'number', min: -1, required: true }, [-1, 2.5], [0, -2]],
  [{ type: 'bool' }, [true, false], []],
  [{ type: 'bool', required: true }, [true], [false]],
  [{ type: 'email' }, ['', 'a@example.com'], []],
  [{ type: 'email', required: true, onlyDomains: ['example.com'] }, ['a@example.com'], ['']],
  [{ type: 'url', required: true }, ['https://example.com/é'], ['']],
  [{ type: 'editor', required: true }, ['<b>'], ['']],
  [{ type: 'date', min: '2020-01-01' }, ['', '2026-02-03 04:05:06.000Z'], []],
  [{ type: 'date', required: true }, ['2026-02-03 04:05:06.000Z'], ['']],
  [{ type: 'select', values: ['a', 'b'] }, ['', 'a', 'b'], ['c']],
  [{ type: 'select', values: ['a', 'b'], required: true }, ['a'], ['', 'c']],
  [
    { type: 'select', values: ['a', 'b', 'c'], maxSelect: 2 },
    [[], ['a'], ['b', 'a']],
    [['a', 'b', 'c'], ['x']],
  ],
  [{ type: 'select', values: ['a', 'b', 'c'], maxSelect: 2, required: true }, [['a']], [[]]],
  [{ type: 'file' }, [''], []],
  [{ type: 'file', maxSelect: 2 }, [[]], [['a', 'b', 'c']]],
  [{ type: 'relation' }, ['', 'there0000000000'], ['x'.repeat(256)]],
  [
    { type: 'relation', maxSelect: 3, minSelect: 2 },
    [[], ['there0000000000', 'other0000000000']],
    [['there0000000000']],
  ],
  [{ type: 'relation', maxSelect: 2, required: true }, [['there0000000000']], [[]]],
  [{ type: 'json' }, [null, true, -1.5, [1, null], { b: 1 }], []],
  [{ type: 'json', required: true }, [0, false, [0]], [null, '', [], {}]],
  [
    { type: 'geoPoint' },
    [
      { lon: 0, lat: 0 },
      { lon: -180, lat: 90 },
    ],
    [
      { lon: 181, lat: 0 },
      { lon: 0, lat: -91 },
    ],
  ],
  [{ type: 'geoPoint', required: true }, [{ lon: 1, lat: 0 }], [{ lon: 0, lat: 0 }]],
  [{ type: 'password', min: 8, required: true, hidden: true }, ['correct horse'], ['', 'short']],
];

test('schemas of values accept what the service accepts, refuse what it refuses, and describe what it answers', async (t) => {
  const { ask } = await setUp(t);
  const collectionId = await make(ask, { name: 'targets' });
  for (const id of ['there0000000000', 'other0000000000'])
    assert.equal((await ask('POST', '/api/records/targets', { id })).status, 201);
  for (const [at, [options]] of contract.entries())
    await make(ask, { name: `c${at}`, fields: [{ name: 'f', collectionId, ...options }] });
  const document = (await ask('GET', path)).json;
  const schema = schemasOf(document);
  for (const [at, [options, accepted, refused]] of contract.entries()) {
    const [create, update, record] = [
      schema(`c${at}.Create`),
      schema(`c${at}.Update`),
      schema(`c${at}.Record`),
    ];
    for (const [f, expected] of [...accepted.map((f) => [f, true]), ...refused.map((f) => [f, false])]) {
      const where = `${JSON.stringify(options)} ${JSON.stringify(f)}`.slice(0, 300);
      const answer = await ask('POST', `/api/records/c${at}`, { f });
      assert.equal(answer.status, expected === true ? 201 : 400, `${where} ${answer.text}`);
      assert.deepEqual([create({ f }), update({ f })], [expected, expected], where);
      if (expected === true)
        assert.ok(record(answer.json), `${where} ${answer.text} ${JSON.stringify(record.errors)}`);
    }
    const isNeeded = (await ask('POST', `/api/records/c${at}`, {})).status === 400;
    assert.deepEqual([create({}), update({})], [!isNeeded, true], JSON.stringify(options));
    const list = await ask('GET', `/api/records/c${at}`);
    assert.ok(schema(`c${at}.List`)(list.json), list.text);
  }
});

test('a pattern that means something else in JSON Schema is told in words', async (t) => {
  const { ask } = await setUp(t);
  const patterns = {
    a: '^a\\.b\\\\$',
    b: '^a.b$',
    c: '\\s',
    d: '(?i)x',
    e: '[[:alpha:]]',
    f: '\\\\s',
    g: '\\pL',
    h: 'a{02}',
    i: 'a{1,02}',
    j: 'a{10,20}',
  };
  const fields = Object.entries(patterns).map(([name, pattern]) => ({
    name,
    type: 'text',
    required: true,
    pattern,
  }));
  await make(ask, { name: 'posts', fields });
  const { properties } = (await ask('GET', path)).json.components.schemas['posts.Create'];
  const told = Object.keys(patterns).filter((name) => properties[name].pattern === undefined);
  assert.deepEqual(told, ['b', 'c', 'd', 'e', 'g', 'h', 'i']);
  assert.equal(properties.d.description, 'Matches `(?i)x` (RE2).');
});
