import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Json, startWebhookService, type WebhookService } from '../support/webhook-service.ts';

async function lastEvent(service: WebhookService): Promise<string> {
  const { items } = await service.call('GET', '/api/webhooks/events?sort=-created&perPage=1');
  return items[0].id;
}

async function why(service: WebhookService, query = ''): Promise<readonly Json[]> {
  const { items } = await service.call('GET', `/api/webhooks/events/${await lastEvent(service)}/why${query}`);
  return items;
}

test('each endpoint has one line that says whether it was sent an event, or why not', async (t) => {
  const service = await startWebhookService(t);
  for (const settings of [
    {},
    { status: 'paused' },
    { events: ['record.delete'] },
    { collections: ['users'] },
    { filter: 'rank > 5' },
    { filter: 'email != ""', collections: [] },
  ])
    await service.addEndpoint(settings);
  await service.addPost();
  await service.addEndpoint({});
  const lines = await why(service);
  const [filter] = lines.flatMap(({ comparisons }) => comparisons);
  assert.deepEqual(filter, {
    text: 'rank > 5',
    position: 0,
    isHidden: false,
    isOfNow: false,
    sides: [
      { text: 'rank', values: [0] },
      { text: '5', values: [5] },
    ],
  });
  assert.deepEqual(
    lines.map(({ reason }) => reason),
    ['sent', 'paused', 'other-events', 'other-collections', 'filter', 'filter-unfit', 'made-later'],
  );
});
