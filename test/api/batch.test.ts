// Both engines: a batch is one transaction.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../src/base/clock.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { sql } from '../../src/sql/sql.ts';
import { failureOf, refusalOf, sendBatch, startBatchService } from '../support/send-batch.ts';
import type { TestService } from '../support/service.ts';

const at = '/api/collections/posts/records';
const alias = '/api/records/posts';
const open = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
const id = (letter: string): string => letter.repeat(15);

/** What happened, in order; of a record whose id is one letter, with that letter, of all others with `?`. */
function eventsOf(service: TestService): Promise<readonly string[]> {
  return service.withInstance('default', async ({ database }) => {
    const rows = await database.tuples(
      sql`SELECT kind, record, revision FROM ${database.names.table('$event')} ORDER BY position`,
    );
    return rows.map(([kind, record, revision]) => {
      const [letter = ''] = String(record);
      return `${String(kind)} ${record === id(letter) ? letter : '?'} ${Number(revision)}`;
    });
  });
}

async function titles(service: TestService): Promise<readonly string[]> {
  const { json } = await service.request(`${at}?perPage=1000`);
  // The items of a list, of a collection with this field.
  return (json.items as readonly { readonly title: string }[]).map(({ title }) => title);
}

test('A1 A2 B-05 a batch makes all its changes in their order, each seeing those before it, under both paths', async (t) => {
  const service = await startBatchService(t);
  const requests = [
    { method: 'POST', url: at, body: { id: id('a'), title: 'one' } },
    { method: 'PATCH', url: `${alias}/${id('a')}`, body: { title: 'two' } },
    { method: 'PUT', url: at, body: { id: id('a'), title: 'three' } },
    { method: 'PUT', url: alias, body: { id: id('b'), title: 'made' } },
    { method: 'PUT', url: at, body: { title: 'without an id' } },
    { method: 'PATCH', url: `${at}/${id('a')}`, body: { title: 'three' } },
    { method: 'DELETE', url: `${at}/${id('a')}` },
    { method: 'POST', url: `${alias}?fields=id,title`, headers: null, body: { id: id('a'), title: 'again' } },
  ];
  const answer = await sendBatch(service, requests);
  assert.equal(answer.status, 200, answer.text);
  // The SDK and tools compare these bytes.
  assert.equal(answer.text, JSON.stringify(answer.json));
  const items: { status: number; body: { title: string } | null }[] = answer.json;
  assert.deepEqual(
    items.map(({ status, body }) => [status, body?.title ?? null]),
    [
      [201, 'one'],
      [200, 'two'],
      [200, 'three'],
      [201, 'made'],
      [201, 'without an id'],
      [200, 'three'],
      [204, null],
      [201, 'again'],
    ],
  );
  assert.ok(answer.text.endsWith(`{"body":{"id":"${id('a')}","title":"again"},"status":201}]`), answer.text);
  assert.deepEqual(
    items.map((item) => Object.keys(item).join()).filter((keys) => keys !== 'body,status'),
    [],
  );
  const events = await eventsOf(service);
  assert.deepEqual(
    events.filter((event) => event.includes(' a ')),
    ['record.create a 1', 'record.update a 2', 'record.update a 3', 'record.delete a 4', 'record.create a 1'],
  );
  assert.deepEqual([events[3], events.length], ['record.create b 1', 7]);
  assert.deepEqual(await titles(service), ['made', 'without an id', 'again']);
});

test('creates that need no answer of the one before are made in their order, and a rule is asked when those before it are there', async (t) => {
  const service = await startBatchService(t);
  const isFree = '@request.body.title ~ "free"';
  const createRule = `${isFree} || @collection.links.title ?= @request.body.after`;
  const fields = ['title', 'after'].map((name) => ({ name, type: 'text' }));
  const body = { ...open, name: 'links', type: 'base', fields, createRule };
  await service.request('/api/collections', { method: 'POST', token: true, body });
  const settings = { batch: { maxRequests: 100 } };
  await service.request('/api/settings', { method: 'PATCH', token: true, body: settings });
  const link = (title: string, after: string): object => ({
    method: 'POST',
    url: '/api/collections/links/records',
    body: { title, after },
  });
  const post = (title: string): object => ({ method: 'POST', url: at, body: { title } });
  const posts = Array.from({ length: 70 }, (_, n) => `post ${n}`);
  const requests = [
    ...posts.map(post),
    link('free', ''),
    link('second', 'free'),
    link('third', 'second'),
    post('last'),
  ];
  const answer = await sendBatch(service, requests);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(await titles(service), [...posts, 'last']);
  const early = await sendBatch(service, [...posts.map(post), link('x', 'fifth'), link('fifth', 'third')]);
  assert.equal(failureOf(early)?.index, '70');
});

test('each event of a batch has a position of its own, and its deliveries belong to it', async (t) => {
  const service = await startBatchService(t);
  for (const path of ['a', 'b']) {
    const body = { url: `http://127.0.0.1:9/${path}` };
    const endpoint = await service.request('/api/webhooks/endpoints', { method: 'POST', token: true, body });
    await service.request(`/api/webhooks/endpoints/${endpoint.json.id}/pause`, {
      method: 'POST',
      token: true,
    });
  }
  const requests = Array.from({ length: 20 }, (_, index) => ({
    method: 'POST',
    url: at,
    body: { title: `${index}` },
  }));
  assert.equal((await sendBatch(service, requests)).status, 200);
  const rows = await service.withInstance('default', ({ database }) =>
    database.tuples(sql`
      SELECT e.id, e.body FROM ${database.names.table('$delivery')} d
      JOIN ${database.names.table('$event')} e ON e.position = d.event ORDER BY e.position`),
  );
  assert.equal(rows.length, 40);
  assert.equal(new Set(rows.map(([event]) => event)).size, 20);
  for (const [index, [, body]] of rows.entries()) {
    // A payload, as the column of events holds them.
    const payload = Buffer.from(body as Uint8Array).toString();
    assert.ok(payload.includes(`"title":"${Math.floor(index / 2)}"`), payload);
  }
});

test('section 15: the first item that fails is told with the answer it would have had, and nothing is kept', async (t) => {
  const service = await startBatchService(t);
  await service.request(at, { method: 'POST', body: { id: id('a'), title: 'kept' } });
  const good = { method: 'POST', url: at, body: { title: 'good' } };
  const long = 'x'.repeat(21);
  const failing: readonly (readonly [Record<string, unknown>, number, string])[] = [
    [{ method: 'POST', url: at, body: { title: long } }, 400, 'Failed to create record.'],
    [{ method: 'PATCH', url: `${at}/${id('a')}`, body: { title: long } }, 400, 'Failed to update record.'],
    [{ method: 'POST', url: at, body: { id: id('a') } }, 400, 'Failed to create record.'],
    [{ method: 'PATCH', url: `${at}/${id('z')}`, body: {} }, 404, "The requested resource wasn't found."],
    [{ method: 'DELETE', url: `${at}/${id('z')}` }, 404, "The requested resource wasn't found."],
    [{ method: 'POST', url: '/api/collections/nope/records' }, 404, 'Missing collection context.'],
    [{ method: 'PUT', url: '/api/records/nope' }, 404, 'Missing collection context.'],
    [{ method: 'POST', url: '/api/records/locked' }, 403, 'Only superusers can perform this action.'],
    [{ method: 'PUT', url: '/api/records/locked' }, 403, 'Only superusers can perform this action.'],
    [
      { method: 'DELETE', url: `/api/records/locked/${id('a')}` },
      403,
      'Only superusers can perform this action.',
    ],
    [{ method: 'POST', url: at, body: [] }, 400, 'Expected a JSON object as the body.'],
    [
      { method: 'POST', url: `${at}?fields=a:b` },
      400,
      'Expected no modifier but ":excerpt(max, withEllipsis)" in fields and found "a:b".',
    ],
  ];
  for (const [item, status, message] of failing) {
    const where = JSON.stringify(item);
    const { index, response } = failureOf(await sendBatch(service, [good, good, item, { ...item }])) ?? {};
    assert.deepEqual([index, response.status, response.message], ['2', status, message], where);
    assert.deepEqual(Object.keys(response), ['data', 'message', 'status']);
    const alone = await service.request(String(item['url']), {
      method: item['method'] === 'PUT' ? 'POST' : String(item['method']),
      body: item['body'],
    });
    assert.deepEqual(response, alone.json, where);
  }
  assert.deepEqual(await titles(service), ['kept']);
  assert.deepEqual(await eventsOf(service), ['record.create a 1']);
});

test('section 15: a rule knows of each item what it says, that it is in a batch, and the headers of the batch beside its own', async (t) => {
  const service = await startBatchService(t);
  const createRule = [
    '@request.context = "batch"',
    '@request.method = "POST"',
    '@request.query.a = "b"',
    '@request.headers.x_own = "1"',
    '@request.headers.x_outer = "2"',
    '@request.headers.authorization = null',
    '@request.body.title = "t" && title = "t"',
  ].join(' && ');
  await service.request('/api/collections/posts', { method: 'PATCH', token: true, body: { createRule } });
  const own = { 'X-Own': '1', 'X-Both': 'inner', Authorization: 'x' };
  const good = { method: 'POST', url: `${at}?a=b`, headers: own, body: { title: 't' } };
  const headers = { 'x-outer': '2', 'x-own': 'outer' };
  assert.equal((await sendBatch(service, [good], { headers })).status, 200);
  const refused = [
    { ...good, url: at },
    { ...good, headers: {} },
    { ...good, body: { title: 'u' } },
  ];
  for (const item of refused)
    assert.equal((await refusalOf(service, item, { headers })).message, 'Failed to create record.');
  const alone = { method: 'POST', headers: { ...own, ...headers, 'x-own': '1' }, body: good.body };
  assert.equal((await service.request(good.url, alone)).status, 400);
});

test('what an item expands is read in the transaction of the batch', async (t) => {
  const service = await startBatchService(t);
  const fields = [{ name: 'post', type: 'relation', collectionId: 'posts' }];
  const { json } = await service.request('/api/collections/posts', { token: true });
  for (const field of fields) field.collectionId = json.id;
  const body = { name: 'notes', ...open, fields };
  await service.request('/api/collections', { method: 'POST', token: true, body });
  const answer = await sendBatch(service, [
    { method: 'POST', url: at, body: { id: id('a'), title: 'new' } },
    {
      method: 'POST',
      url: '/api/records/notes?expand=post&fields=expand.post.title',
      body: { post: id('a') },
    },
  ]);
  assert.deepEqual(answer.json[1], { body: { expand: { post: { title: 'new' } } }, status: 201 });
});

test('A8 an item with If-Match is made only if its record has not moved on, not even in the same batch', async (t) => {
  const service = await startBatchService(t);
  const url = `${at}/${id('a')}`;
  const made = await service.request(at, { method: 'POST', body: { id: id('a'), title: 'one' } });
  const headers = { 'If-Match': made.headers.get('etag') };
  const change = { method: 'PATCH', url, headers, body: { title: 'two' } };
  const { index, response } = failureOf(await sendBatch(service, [change, change])) ?? {};
  assert.deepEqual([index, response.status, response.message], ['1', 412, 'The record has changed.']);
  const next = { 'if-match': '"2-x"' };
  const put = { method: 'PUT', url: at, headers: next, body: { id: id('a'), title: 'three' } };
  const remove = { method: 'DELETE', url, headers: { 'if-match': '"3-x"' } };
  assert.equal((await sendBatch(service, [change, put, remove])).status, 200);
  for (const ifMatch of ['*', '"1-x"']) {
    const absent = await refusalOf(service, { ...put, headers: { 'if-match': ifMatch } });
    assert.equal(absent.status, 412, 'what is not there is not as it was expected');
  }
  assert.equal((await refusalOf(service, { ...put, headers: { 'if-match': 'x' } })).status, 400);
});

test('A7 A11 a batch under a key is made once', async (t) => {
  const service = await startBatchService(t);
  const headers = { 'idempotency-key': 'k' };
  const requests = [
    { method: 'POST', url: at, body: { title: 'a' } },
    { method: 'POST', url: alias },
  ];
  const refused = await sendBatch(service, [...requests, { method: 'DELETE', url: `${at}/x` }], { headers });
  assert.equal(refused.status, 400);
  const first = await sendBatch(service, requests, { headers });
  const second = await sendBatch(service, requests, { headers });
  assert.deepEqual([first.status, second.text], [200, first.text]);
  assert.equal(second.headers.get('idempotent-replayed'), 'true');
  assert.equal((await sendBatch(service, requests.slice(1), { headers })).status, 422);
  assert.equal((await eventsOf(service)).length, 2);
});

test('a batch shows of its items what `fields` asks for', async (t) => {
  const service = await startBatchService(t);
  const body = { requests: [{ method: 'POST', url: at, body: { title: 'a' } }] };
  const answer = await service.request('/api/batch?fields=body.title', { method: 'POST', body });
  assert.equal(answer.text, '[{"body":{"title":"a"}}]');
});

/** Its durations take as long as a test says. */
class SlowClock implements Clock {
  stepMs = 0;
  #passedMs = 0;

  now(): number {
    return Date.UTC(2026, 10, 20);
  }

  monotonic(): number {
    this.#passedMs += this.stepMs;
    return this.#passedMs;
  }
}

test('B-06 a batch that takes more than three seconds is taken back as a whole', async (t) => {
  const clock = new SlowClock();
  const service = await startBatchService(t, { clock });
  const requests = Array.from({ length: 20 }, () => ({ method: 'POST', url: at, body: {} }));
  // Asked before each item and at the end, which alone is more than three seconds; others may ask, too.
  clock.stepMs = 160;
  const late = await sendBatch(service, requests);
  assert.deepEqual(late.json, { data: {}, message: 'Batch transaction failed.', status: 400 });
  assert.equal(
    failureOf(await sendBatch(service, [...requests, { method: 'DELETE', url: `${at}/x` }])),
    undefined,
  );
  clock.stepMs = 0;
  assert.deepEqual(await eventsOf(service), []);
  // Enough time, when the settings give it more.
  const body = { batch: { timeout: 10 } };
  await service.request('/api/settings', { method: 'PATCH', token: true, body });
  clock.stepMs = 160;
  assert.equal((await sendBatch(service, requests)).status, 200);
});

test('who upserts what somebody else makes at the same moment updates it', async (t) => {
  const service = await startBatchService(t);
  const body = { name: 'counters', ...open, fields: [{ name: 'n', type: 'number' }] };
  await service.request('/api/collections', { method: 'POST', token: true, body });
  const url = '/api/collections/counters/records';
  const upsert = { method: 'PUT', url, body: { id: id('a'), 'n+': 1 } };
  const answers = await Promise.all(Array.from({ length: 20 }, () => sendBatch(service, [upsert])));
  assert.deepEqual(
    answers.filter(({ status }) => status !== 200).map(({ text }) => text),
    [],
  );
  const { json } = await service.request(`${url}/${id('a')}`);
  assert.equal(json.n, answers.length);
  assert.deepEqual(
    (await eventsOf(service)).map((event) => event.split(' ')[2]),
    answers.map((_, index) => String(index + 1)),
  );
});

test('a batch of creates is refused for its duplicate, whatever stands beside it', async (t) => {
  const service = await startBatchService(t);
  await service.request(at, { method: 'POST', body: { id: id('b'), title: 'x' } });
  const create = (given: string): unknown => ({ method: 'POST', url: at, body: { id: given, title: 'x' } });
  const refused = failureOf(
    await sendBatch(
      service,
      ['a', 'b', 'c'].map((each) => create(id(each))),
    ),
  );
  const data = { id: { code: 'validation_not_unique', message: 'Value must be unique.' } };
  assert.deepEqual(refused, {
    index: '1',
    response: { data, message: 'Failed to create record.', status: 400 },
  });
  assert.equal((await eventsOf(service)).length, 1);
});

test('an upsert of an id that an index has for the same as another is refused as a create is', async (t) => {
  const service = await startBatchService(t);
  const fields = [
    { name: 'id', type: 'text', primaryKey: true, required: true, system: true, pattern: '^[A-Za-z]+$' },
  ];
  const indexes = ['CREATE UNIQUE INDEX names_of_any_case ON names (id COLLATE NOCASE)'];
  await service.withInstance('default', async ({ database, collections, clock }) => {
    const change = { database, collections, now: clock.now() };
    await createCollection(change, { name: 'names', ...open, fields, indexes });
  });
  const upsert = (given: string): unknown => ({
    method: 'PUT',
    url: '/api/collections/names/records',
    body: { id: given },
  });
  assert.equal((await sendBatch(service, [upsert(id('a'))])).status, 200);
  const refused = failureOf(await sendBatch(service, [upsert(id('b')), upsert(id('A'))]));
  const data = { id: { code: 'validation_not_unique', message: 'Value must be unique.' } };
  assert.deepEqual(refused, {
    index: '1',
    response: { data, message: 'Failed to create record.', status: 400 },
  });
  assert.equal((await eventsOf(service)).length, 1);
});

test('batches that change the same records in opposite order are made one after the other, each whole or not at all', async (t) => {
  const service = await startBatchService(t);
  const ids = [id('a'), id('b')];
  for (const each of ids) await service.request(at, { method: 'POST', body: { id: each, title: 'x' } });
  const answers = await Promise.all(
    Array.from({ length: 4 }, (_, round) => {
      const order = round % 2 === 0 ? ids : ids.toReversed();
      const change = (each: string): unknown => ({
        method: 'PATCH',
        url: `${at}/${each}`,
        body: { title: `${round}` },
      });
      return sendBatch(service, order.map(change));
    }),
  );
  const done = answers.filter(({ status }) => status === 200).length;
  // Two that wait for each other are run again, but not for longer than a batch may take.
  for (const answer of answers)
    if (answer.status !== 200 && answer.status !== 503) assert.equal(failureOf(answer), undefined);
  assert.equal((await eventsOf(service)).length, 2 + 2 * done);
  const [one, other] = await titles(service);
  assert.equal(one, other);
});
