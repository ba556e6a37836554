// Both engines: filters compile to SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { makeKey } from '../support/make-key.ts';
import { startWebhookService, type Json, type WebhookService } from '../support/webhook-service.ts';

const path = '/api/collections/posts/filters/check';
const right = { isValid: true, message: '', position: null };

interface Stage extends WebhookService {
  readonly check: (body: object, status?: number) => Promise<Json>;
}

async function setUp(t: TestContext): Promise<Stage> {
  const service = await startWebhookService(t);
  return { ...service, check: (body, status = 200) => service.call('POST', path, { body, status }) };
}

test('a filter and a sort are judged as a list judges them, with the place of what is wrong', async (t) => {
  const service = await setUp(t);
  const cases: readonly (readonly [name: 'filter' | 'sort', text: string, position: number | null])[] = [
    ['filter', "title ~ 'a' && rank > 3", null],
    ['filter', '', null],
    ['filter', "@request.method = 'GET' && note = 'hidden fields are for superusers'", null],
    ['filter', 'title', 5],
    ['filter', "title = 'a' && nothing = 1", 15],
    ['filter', "(title = 'a'", 12],
    ['filter', "title = '🙂' && nothing = 1", 16],
    ['filter', `title = '${'x'.repeat(3_500)}'`, 0],
    ['filter', "title:upper = 'A'", 0],
    ['sort', '-rank,title', null],
    ['sort', '-rank,nothing', 6],
    ['sort', 'rank,,title', 5],
  ];
  for (const [name, text, position] of cases) {
    const found = await service.check({ [name]: text });
    const list = `/api/collections/posts/records?${name}=${encodeURIComponent(text)}`;
    const listed = await service.call('GET', list, { status: position === null ? 200 : 400 });
    const expected = position === null ? right : { isValid: false, message: listed.message, position };
    assert.deepEqual(found, expected, text);
    if (position !== null) assert.equal(listed.data[name].params.position, position, text);
  }
});

test('a rule is judged as a definition judges it, and may name the request', async (t) => {
  const service = await setUp(t);
  for (const rule of [null, '', "@request.auth.id != '' && @request.body.title:isset = true", 'rank > 1'])
    assert.deepEqual(await service.check({ rule }), right, String(rule));
  for (const [rule, position] of [
    ["@request.body.title:none = ''", 0],
    ["rank > 1 && @request.auth.verified:isset = 'x'", 12],
    ["rank > 1 && nothing = 'x'", 12],
  ] as const) {
    const { isValid, message, position: place } = await service.check({ rule });
    assert.deepEqual([isValid, place], [false, position], rule);
    const body = { listRule: rule };
    const { data } = await service.call('PATCH', '/api/collections/posts', { body, status: 400 });
    assert.equal(data.listRule.message, `Invalid rule. Raw error: ${message}`);
  }
});

test('one text is checked at once, of a collection that is there', async (t) => {
  const service = await setUp(t);
  const cases: readonly (readonly [body: object, member: string])[] = [
    [{}, 'filter'],
    [{ filter: 7 }, 'filter'],
    [{ filter: null }, 'filter'],
    [{ filter: '', sort: '' }, 'sort'],
    [{ rule: {} }, 'rule'],
    [{ filter: '', sorts: '' }, 'sorts'],
  ];
  for (const [body, member] of cases)
    assert.deepEqual(Object.keys((await service.check(body, 400)).data), [member], JSON.stringify(body));
  await service.call('POST', '/api/collections/nothing/filters/check', { body: { filter: '' }, status: 404 });
});

test('an API key learns nothing of collections that it does not reach', async (t) => {
  const service = await setUp(t);
  const fields = [{ type: 'text', name: 'title' }];
  await service.call('POST', '/api/collections', { body: { name: 'others', fields } });
  const { key } = await makeKey(service, ['records:read'], { collections: ['posts'] });
  const ask = (collection: string, body: object): Promise<Json> =>
    service.request(`/api/collections/${collection}/filters/check`, { method: 'POST', token: key, body });
  assert.equal((await ask('others', { filter: "title = 'a'" })).status, 403);
  const text = "@collection.others.title ?= 'a'";
  assert.deepEqual(await service.check({ rule: text }), right);
  for (const name of ['filter', 'rule']) {
    const { json } = await ask('posts', { [name]: text });
    assert.deepEqual([json.isValid, json.position], [false, 0], name);
    assert.equal((await ask('posts', { [name]: "title = 'a'" })).json.isValid, true);
  }
});
