// Both engines: revisions are counted under locks.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const at = '/api/collections/posts/records';
const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
const id = 'a'.repeat(15);

async function setUp(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const fields = [
    { name: 'title', type: 'text' },
    { name: 'secret', type: 'text', hidden: true },
  ];
  const make = { method: 'POST', token: true } as const;
  await service.request('/api/collections', { ...make, body: { name: 'posts', ...open, fields } });
  await service.request('/api/collections', { ...make, body: { name: 'locked', fields } });
  return service;
}

function tagOf(answer: TestAnswer): string {
  const tag = answer.headers.get('etag');
  assert.ok(tag !== null, `${answer.status} has an ETag`);
  return tag;
}

function add(service: TestService, title: string): Promise<TestAnswer> {
  return service.request(at, { method: 'POST', body: { id, title } });
}

function change(service: TestService, ifMatch: string, body: unknown = { title: 'c' }): Promise<TestAnswer> {
  return service.request(`${at}/${id}`, { method: 'PATCH', body, headers: { 'if-match': ifMatch } });
}

function view(service: TestService, query = '', headers: Record<string, string> = {}): Promise<TestAnswer> {
  return service.request(`${at}/${id}${query}`, { headers });
}

test('A8 create, view and update answer the ETag of the same state alike: its revision and a checksum', async (t) => {
  const service = await setUp(t);
  const made = await add(service, 'a');
  assert.match(tagOf(made), /^"1-[a-z0-9]+\.[a-z0-9]+"$/);
  assert.equal(tagOf(await view(service)), tagOf(made));
  const changed = await change(service, tagOf(made));
  assert.match(tagOf(changed), /^"2-[a-z0-9]+\.[a-z0-9]+"$/);
  assert.equal(tagOf(await view(service)), tagOf(changed));
  const idle = await change(service, tagOf(changed));
  assert.deepEqual([idle.status, tagOf(idle)], [200, tagOf(changed)]);
  const listed = await service.request(at);
  assert.equal(listed.headers.get('etag'), null);
});

test('A8 the digest tells apart what is shown: other fields, hidden ones, a changed definition, an id made again', async (t) => {
  const service = await setUp(t);
  await add(service, 'a');
  const tags = [
    tagOf(await view(service)),
    tagOf(await view(service, '?fields=id')),
    tagOf(await service.request(`${at}/${id}`, { token: true })),
  ];
  const collection = await service.request('/api/collections/posts', { token: true });
  // The fields of a definition have names.
  const fields = collection.json.fields as readonly { readonly name: string }[];
  const renamed = fields.map((field) => (field.name === 'title' ? { ...field, name: 'heading' } : field));
  const body = { fields: renamed };
  await service.request('/api/collections/posts', { method: 'PATCH', token: true, body });
  tags.push(tagOf(await view(service)));
  await service.request(`${at}/${id}`, { method: 'DELETE' });
  await service.request(at, { method: 'POST', body: { id, heading: 'b' } });
  tags.push(tagOf(await view(service)));
  assert.equal(new Set(tags).size, tags.length);
  for (const tag of tags) assert.match(tag, /^"1-/);
});

test('A8 If-Match lets the change of a known revision through and answers 412 to all others, and nothing is changed', async (t) => {
  const service = await setUp(t);
  const first = tagOf(await add(service, 'a'));
  await change(service, first, { title: 'b' });
  const remove = (ifMatch: string): Promise<TestAnswer> =>
    service.request(`${at}/${id}`, { method: 'DELETE', headers: { 'if-match': ifMatch } });
  for (const stale of [
    first,
    `W/"2-x"`,
    '"2"',
    '"x"',
    '"-2-x"',
    '"02-x"',
    `${first}, "3-x"`,
    '""',
    '"2e0-x"',
  ]) {
    for (const refused of [await change(service, stale), await remove(stale)]) {
      assert.equal(refused.status, 412, stale);
      assert.equal(refused.text, '{"data":{},"message":"The record has changed.","status":412}');
    }
  }
  assert.equal((await view(service)).json.title, 'b');
  // Of no change, too: who sends it believes in another state.
  assert.equal((await change(service, first, { title: 'b' })).status, 412);
  const known = ['"2-from-another-view"', '*', ' * ', `"9-x" , ,"2-x"`, `W/"1-x","2-x"`, ',"2-x",'];
  for (const ifMatch of known) assert.equal((await change(service, ifMatch, {})).status, 200, ifMatch);
  assert.equal((await remove('"2-x"')).status, 204);
  const kinds = await service.withInstance('default', ({ database }) =>
    database.all(sql`SELECT kind FROM ${database.names.table('$event')} ORDER BY position`),
  );
  assert.deepEqual(
    kinds.map(({ kind }) => kind),
    ['record.create', 'record.update', 'record.delete'],
  );
});

test('A8 of many changes of one revision exactly one is made', async (t) => {
  const service = await setUp(t);
  const first = tagOf(await add(service, 'a'));
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => change(service, first, { title: `by ${index}` })),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  assert.equal(answers.filter(({ status }) => status === 412).length, 19);
  assert.match(tagOf(await view(service)), /^"2-/);
});

test('A8 an If-Match that is no list of tags is refused, as ignoring it would make the change it was to stop', async (t) => {
  const service = await setUp(t);
  await add(service, 'a');
  for (const bad of ['1', '', ' ', ',', '"1-x', '"1-x" "2-x"', 'w/"1-x"', '*, "1-x"', '"1-x";', "'1-x'"]) {
    assert.equal((await change(service, bad)).status, 400, JSON.stringify(bad));
  }
  const long = `${'"9-x",'.repeat(2_000)}"1-x"`;
  assert.equal((await change(service, long)).status, 200);
});

test('A8 the 404 and the 403 come before 412 and 304', async (t) => {
  const service = await setUp(t);
  const ask = (path: string, method: string, header: string): Promise<TestAnswer> =>
    service.request(path, { method, headers: { [header]: header === 'if-match' ? '"1-x"' : '*' } });
  assert.equal((await ask(`${at}/${id}`, 'PATCH', 'if-match')).status, 404);
  assert.equal((await ask(`${at}/${id}`, 'DELETE', 'if-match')).status, 404);
  assert.equal((await ask(`${at}/${id}`, 'GET', 'if-none-match')).status, 404);
  // What a rule hides is not there, whatever its revision.
  await add(service, 'a');
  const rules = { viewRule: 'title = "b"', updateRule: 'title = "b"', deleteRule: 'title = "b"' };
  await service.request('/api/collections/posts', { method: 'PATCH', token: true, body: rules });
  for (const method of ['PATCH', 'DELETE', 'GET']) {
    const headers = { 'if-match': '"7-x"', 'if-none-match': '*' };
    assert.equal((await service.request(`${at}/${id}`, { method, headers })).status, 404, method);
  }
  const locked = `/api/collections/locked/records/${id}`;
  for (const method of ['PATCH', 'DELETE']) assert.equal((await ask(locked, method, 'if-match')).status, 403);
  assert.equal((await ask(locked, 'GET', 'if-none-match')).status, 403);
});

test('A8 H-75 If-None-Match answers a known view with 304 and no body, never with expand, and garbage with the view', async (t) => {
  const service = await setUp(t);
  const tag = tagOf(await add(service, 'a'));
  for (const known of [tag, `W/${tag}`, '*', `"x", ${tag}`, `"x",,W/${tag} ,`]) {
    const answer = await view(service, '', { 'if-none-match': known });
    assert.deepEqual([answer.status, answer.text, tagOf(answer)], [304, '', tag], known);
    assert.equal(answer.headers.get('content-type'), null);
  }
  for (const other of ['"1-x"', tag.slice(1, -1), `${tag}x`, '', '"', `${tag} ${tag}`]) {
    const answer = await view(service, '', { 'if-none-match': other });
    assert.deepEqual([answer.status, answer.json.title], [200, 'a'], JSON.stringify(other));
  }
  assert.equal((await view(service, '?fields=id', { 'if-none-match': tag })).status, 200);
  assert.equal((await view(service, '?expand=', { 'if-none-match': '*' })).status, 304);
  const expanded = await view(service, '?expand=author');
  assert.equal((await view(service, '?expand=author', { 'if-none-match': tagOf(expanded) })).status, 200);
  const head = await service.request(`${at}/${id}`, { method: 'HEAD', headers: { 'if-none-match': tag } });
  assert.deepEqual([head.status, tagOf(head)], [304, tag]);
});

test('A4 a page of another origin may read the ETag', async (t) => {
  const service = await setUp(t);
  const made = await service.request(at, {
    method: 'POST',
    body: {},
    headers: { origin: 'https://a.example' },
  });
  tagOf(made);
  assert.match(made.headers.get('access-control-expose-headers') ?? '', /\bETag\b/);
});
