import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWebhookService, type Json } from '../support/webhook-service.ts';

const path = '/api/webhooks/endpoints/check';

test('a check of an endpoint shows what it would be sent and when it would be tried again', async (t) => {
  const service = await startWebhookService(t);
  for (const title of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) await service.addPost(title);
  const check = (body: object): Promise<Json> => service.call('POST', path, { body });
  const { url } = service.receiver;
  assert.deepEqual(await check({ url, schedule: [5, 30, 60], maxAgeSeconds: 40 }), {
    problems: {},
    url: { isAllowed: true, reason: '' },
    eventsPerDay: 1,
    warnings: [],
    retries: [5, 35],
  });
  assert.equal((await check({ url, events: ['record.delete'] })).eventsPerDay, 0);
  for (const [filter, perDay] of [
    ["title = 'a'", 0.1],
    ["title >= 'd'", 0.6],
    ["title = 'h'", 0],
    ["title:changed = true && title != 'g'", 0.9],
    ['nothing = 1', null],
  ] as const)
    assert.equal((await check({ url, filter })).eventsPerDay, perDay, filter);
  assert.deepEqual((await check({ url, schedule: [] })).retries, []);
  const retries: readonly number[] = (await check({ url })).retries;
  assert.deepEqual([retries.length, retries[0], retries.at(-1)], [14, 5, 272_555]);
  assert.equal((await service.call('GET', '/api/webhooks/endpoints')).totalItems, 0);
  assert.equal(service.receiver.requests.length, 0);
});

test('a check of an endpoint finds every problem at once, and leaves out what follows from them', async (t) => {
  const service = await startWebhookService(t);
  const body = {
    url: 'ftp://a.example',
    events: [],
    schedule: ['soon'],
    status: 'none',
    secret: 'x',
    hook: 1,
  };
  const found = await service.call('POST', path, { body });
  const members = ['events', 'hook', 'schedule', 'secret', 'status', 'url'];
  assert.deepEqual(Object.keys(found.problems).toSorted(), members);
  const { url, eventsPerDay, retries } = found;
  assert.deepEqual([url.isAllowed, url.reason], [false, found.problems.url.message]);
  assert.deepEqual([eventsPerDay, retries], [null, []]);
  const none = await service.call('POST', path, { body: {} });
  assert.deepEqual(Object.keys(none.problems), ['url']);
  assert.equal(none.url.isAllowed, false);
});

test('a check of a change is about the endpoint as it would be', async (t) => {
  const service = await startWebhookService(t);
  const endpoint = await service.addEndpoint({
    order: 'strict',
    schedule: [7],
    headers: { 'x-key': 'secret' },
  });
  const { id } = endpoint;
  const check = (body: object): Promise<Json> => service.call('POST', path, { body });
  assert.deepEqual(await check({ id, onExhausted: 'pause', headers: { 'x-key': '********' } }), {
    problems: {},
    url: { isAllowed: true, reason: '' },
    eventsPerDay: 0,
    warnings: [],
    retries: [7],
  });
  const shown = await service.call('GET', `/api/webhooks/endpoints/${id}`);
  assert.deepEqual((await check(shown)).problems, {}, 'an endpoint may be sent back as it was shown');
  assert.deepEqual(Object.keys((await check({ id, status: 'paused' })).problems), ['status']);
  const unknown = await check({ id: 'nothing', url: service.receiver.url });
  assert.deepEqual(Object.keys(unknown.problems), ['id']);
});

test('a check says to the operator alone which option would allow a URL', async (t) => {
  const service = await startWebhookService(t, { flags: { dev: false } });
  const request = { method: 'POST', token: true, body: { url: 'https://10.1.2.3/hook' } } as const;
  const { json } = await service.request(path, request);
  const refused = { isAllowed: false, reason: 'This address is not allowed as a webhook target.' };
  const remedy = 'The server allows it with --allow-net 10.1.2.3.';
  assert.deepEqual(json.url, { ...refused, remedy });
  const behindProxy = await service.request(path, { ...request, headers: { 'X-Real-IP': '127.0.0.1' } });
  assert.deepEqual(behindProxy.json.url, refused);
});
