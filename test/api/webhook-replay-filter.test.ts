// Both engines: filters compile to SQL of each.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { startWebhookService, type Json, type WebhookService } from '../support/webhook-service.ts';

interface Stage {
  readonly service: WebhookService;
  readonly replay: (filter: string, more?: object, status?: number) => Promise<Json>;
  readonly count: (filter: string) => Promise<number>;
}

/** Three posts, of which the last was changed, and an endpoint made after them. */
async function setUp(t: TestContext, options: Readonly<Record<string, unknown>> = {}): Promise<Stage> {
  const service = await startWebhookService(t);
  await service.call('POST', '/api/collections', {
    body: { name: 'notes', fields: [{ name: 'text', type: 'text' }] },
  });
  const post = (body: object): Promise<Json> =>
    service.call('POST', '/api/collections/posts/records', { body, status: 201 });
  await post({ title: 'a', rank: 1, isPublic: true, extra: { list: [1, 'x'] } });
  await post({ title: 'b', rank: 20, note: 'hidden' });
  const { id } = await post({ title: 'c', rank: 3 });
  await service.call('PATCH', `/api/collections/posts/records/${id}`, { body: { title: 'C', rank: 30 } });
  await service.call('POST', '/api/collections/notes/records', { body: { text: 'a' } });
  const endpoint = await service.addEndpoint(options);
  const replay: Stage['replay'] = (filter, more = {}, status = 200) =>
    service.call('POST', `/api/webhooks/endpoints/${endpoint.id}/replay`, {
      body: { scope: 'all', filter, ...more },
      status,
    });
  return { service, replay, count: async (filter) => (await replay(filter, { dryRun: true })).total };
}

test('a replay takes only events whose records meet its filter, as they were', async (t) => {
  const { service, replay, count } = await setUp(t);
  const counts: readonly (readonly [filter: string, events: number])[] = [
    ['', 5],
    ["title = 'a'", 1],
    // Bytewise `C` is another title, and the change is an event of its own.
    ["title ~ 'c'", 2],
    ['rank > 10', 2],
    ['rank > 10 && title = "b"', 1],
    ['isPublic = true', 1],
    ["extra.list.1 = 'x'", 1],
    ['title = null', 0],
    ["text = 'a'", 1],
  ];
  for (const [filter, events] of counts) assert.equal(await count(filter), events, filter);

  const { id, filter } = await replay('rank > 10');
  assert.equal(filter, 'rank > 10');
  const over = await eventually('the replay is over', async () => {
    const state = await service.call('GET', `/api/webhooks/replays/${id}`);
    return state.state === 'done' && state.pending === 0 ? state : undefined;
  });
  assert.deepEqual([over.total, over.taken, over.delivered], [2, 2, 2]);
  const requests = await service.receiver.waitForRequests(2);
  assert.deepEqual(requests.map(({ body }) => String(JSON.parse(body.toString()).data.title)).toSorted(), [
    'C',
    'b',
  ]);
});

test('a filter of a replay names fields of the record alone', async (t) => {
  const { service, replay } = await setUp(t);
  const cases: readonly string[] = [
    'nope = 1',
    "note = 'hidden'",
    "@request.auth.id = ''",
    "@collection.notes.text = 'a'",
    'title = ',
    'title.x = 1',
    'notes_via_post.id = 1',
  ];
  for (const filter of cases) {
    const { data } = await replay(filter, {}, 400);
    assert.deepEqual(Object.keys(data), ['filter'], filter);
  }
  assert.deepEqual(Object.keys((await replay('', { filter: 7 }, 400)).data), ['filter']);
  assert.deepEqual(service.receiver.requests, []);
});

test('a filter is to fit each collection that an endpoint names', async (t) => {
  const { replay, count } = await setUp(t, { collections: ['posts', 'notes'] });
  assert.equal((await replay("title = 'a'", {}, 400)).data.filter.code, 'validation_invalid_filter');
  assert.equal(await count("id != ''"), 5);
});
