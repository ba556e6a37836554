// Both engines: replays are steps over the log, and batches are stored.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { listOf, startWebhookService } from '../support/webhook-service.ts';

test('a replay is sent in batches, as is what a catcher stores; an endpoint that coalesces gets last states', async (t) => {
  const service = await startWebhookService(t);
  const catcher = await service.call('POST', '/api/webhooks/catchers', { status: 201 });
  const endpoint = await service.addEndpoint({
    url: catcher.url,
    batch: { max: 10, waitMs: 0 },
    coalesce: true,
  });
  const path = `/api/webhooks/endpoints/${endpoint.id}`;
  await service.call('POST', `${path}/pause`);
  const [a] = [await service.addPost('a 1'), await service.addPost('b')];
  await service.call('PATCH', `/api/collections/posts/records/${a.id}`, { body: { title: 'a 2' } });
  await service.call('POST', `${path}/resume`, { body: { backlog: 'drain' } });
  const bodies = async (): Promise<readonly (readonly string[])[]> => {
    const { requests } = await service.call('GET', `/api/webhooks/catchers/${catcher.id}`);
    return listOf(requests)
      .map(({ body }) => listOf(JSON.parse(body)).map(({ data }) => String(data.title)))
      .toReversed();
  };
  await eventually('the backlog is sent', async () => (await bodies()).length === 1);
  assert.deepEqual(await bodies(), [['b', 'a 2']]);
  await eventually('all are over', async () =>
    (await service.deliveries()).every(({ status }) => status !== 'pending'),
  );
  await service.call('POST', `${path}/replay`, { body: { scope: 'all' } });
  await eventually('the replay is sent', async () => (await bodies()).length === 2);
  assert.deepEqual((await bodies())[1], ['b', 'a 2']);
});
