// Both engines: events are rows of the transaction.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trimLog } from '../../src/deliveries/log/trim-log.ts';
import { eventually } from '../support/eventually.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { listOf, startWebhookService, type Json, type WebhookService } from '../support/webhook-service.ts';

const hourMs = 3_600_000;
const first = '2026-11-20 09:35:20.114Z';

async function events(service: WebhookService): Promise<readonly Json[]> {
  return listOf((await service.call('GET', '/api/webhooks/events?sort=created')).items);
}

test('with the setting `when told` only what an endpoint wants is an event', async (t) => {
  const service = await startWebhookService(t);
  const set = (value: string, status?: number): Promise<Json> =>
    service.call('PATCH', '/api/settings', {
      body: { webhooks: { events: value } },
      ...(status !== undefined && { status }),
    });
  assert.equal((await service.call('GET', '/api/settings')).webhooks.events, 'always');
  const refused = await set('sometimes', 400);
  assert.equal(refused.data.webhooks.events.code, 'validation_in_invalid');
  await set('when told');
  const post = await service.addPost('unheard');
  assert.deepEqual(await events(service), []);
  const endpoint = await service.addEndpoint({ events: ['record.update'] });
  await service.addPost('unheard as well');
  await service.call('PATCH', `/api/collections/posts/records/${post.id}`, { body: { title: 'heard' } });
  await service.call('POST', `/api/webhooks/endpoints/${endpoint.id}/test`);
  const told = await events(service);
  assert.deepEqual(
    told.map(({ kind, revision }) => [kind, revision]),
    [
      ['record.update', 2],
      ['ping', 0],
    ],
  );
  const message = 'The feed is available only while the setting webhooks.events is `always`.';
  assert.equal((await service.call('GET', '/api/webhooks/feed', { status: 400 })).message, message);
  await set('always');
  await service.addPost('an event again');
  assert.equal((await events(service)).length, 3);
  await service.call('GET', '/api/webhooks/feed');
});

test('who asks for events that are not kept any more is told so', async (t) => {
  const clock = new MovableClock();
  const service = await startWebhookService(t, { parts: { clock } });
  const { id } = await service.addEndpoint({ events: ['record.delete'] });
  const feed = (query: string, status = 200): Promise<Json> =>
    service.call('GET', `/api/webhooks/feed?${query}`, { status });
  const consumer = (status?: number, body?: object): Promise<Json> =>
    service.call('PUT', '/api/webhooks/consumers/c', { ...(body && { body }), ...(status && { status }) });
  await consumer();
  const { nextCursor } = await feed('');
  await service.addPost('old');
  clock.move(hourMs);
  await service.addPost('new');
  const entry = service.app.data.directory.all()[0];
  assert.ok(entry);
  const loan = await service.app.data.instances.borrow(entry);
  const trimmed = await trimLog(loan.instance, { before: clock.now() - 1, from: 0 });
  assert.deepEqual([trimmed.events, trimmed.expired], [1, 0]);
  loan.release();

  const message = `Events up to ${first} are not kept any more.`;
  const cases: readonly (readonly [query: string, name: string])[] = [
    [`cursor=${nextCursor}`, 'cursor'],
    ['consumer=c', 'consumer'],
    [`since=${first}`, 'since'],
  ];
  for (const [query, name] of cases) {
    const refused = await feed(query, 400);
    assert.deepEqual([refused.message, Object.keys(refused.data)], [message, [name]]);
  }
  assert.equal((await consumer(400, { since: first })).message, message);
  const replay = { body: { since: first, scope: 'all' }, status: 400 };
  const refused = await service.call('POST', `/api/webhooks/endpoints/${id}/replay`, replay);
  assert.equal(refused.data.since.message, message);

  const titles = (page: Json): readonly Json[] => listOf(page.items).map(({ payload }) => payload.data.title);
  const isNew = async (query: string): Promise<boolean> => titles(await feed(query)).join() === 'new';
  await eventually('it is told what is left', () => isNew(''));
  await eventually('and what is left since then', () => isNew('since=2026-11-20 10:00:00.000Z'));
  await consumer();
  await eventually('so is a consumer that begins again', () => isNew('consumer=c'));
});

test('the operator says up to which size a webhook has the whole record', async (t) => {
  const service = await startWebhookService(t, { flags: { 'webhook-body-max': '2' } });
  await service.addEndpoint();
  await service.addPost('x'.repeat(1_500));
  await service.addPost('y'.repeat(2_000));
  const requests = await service.receiver.waitForRequests(2);
  const sizes = requests.map(({ body }) => String(JSON.parse(body.toString()).data.title ?? '').length);
  assert.deepEqual(
    sizes.toSorted((a, b) => a - b),
    [0, 1_500],
  );
});
