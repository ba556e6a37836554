// Both engines: the mark and the lost ranges are rows of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { markReplaced, unmarkReplaced } from '../../src/instances/replacement-mark.ts';
import { noMemory } from '../../src/storage/data-home.ts';
import { eventually } from '../support/eventually.ts';
import { startWebhookService } from '../support/webhook-service.ts';

test('a process that has an instance open writes nothing to it after the mark, whatever the directory says', async (t) => {
  const service = await startWebhookService(t);
  await service.addPost('before');
  const { home, directory } = service.app.data;
  const id = directory.findBySlug('default')?.id ?? '';
  // Another process begins to replace it, and this one has not read the directory again.
  const other = await home.openInstance(id, noMemory);
  t.after(() => other.stop());
  await markReplaced(other);
  const body = { title: 'late' };
  for (const path of ['/api/collections/posts/records', '/api/collections']) {
    const sent = path.endsWith('records') ? body : { name: 'late', type: 'base' };
    const { status, json } = await service.request(path, { method: 'POST', token: true, body: sent });
    assert.deepEqual([status, json.message], [503, 'The instance is being restored from a backup.'], path);
  }
  await unmarkReplaced(other);
  await service.addPost('after');
  const { items, totalItems } = await service.call('GET', '/api/records/posts?sort=title');
  assert.deepEqual([totalItems, items[0].title, items[1].title], [2, 'after', 'before']);
});

test('a cursor of the feed in events that a restore has lost is refused in words, and one before them reads on', async (t) => {
  const service = await startWebhookService(t);
  await service.addEndpoint();
  await service.addPost('kept');
  // It waits for what is not known to be safe yet.
  const feed = (cursor: string): ReturnType<typeof service.request> =>
    service.request(`/api/webhooks/feed?${new URLSearchParams({ cursor, wait: '30' }).toString()}`, {
      token: true,
    });
  const before = (await feed('')).json;
  await service.call('POST', '/api/backups', { body: { name: 'one.zip' }, status: 204 });
  await service.addPost('lost');
  const lost = (await feed(before.nextCursor)).json;
  assert.deepEqual([before.items.length, lost.items.length], [1, 1]);
  await service.call('POST', '/api/backups/one.zip/restore', { status: 204 });
  await eventually('it is served', async () => (await fetch(`${service.url}/api/health`)).status === 200);
  const refused = await feed(lost.nextCursor);
  assert.equal(refused.status, 400);
  const text = /The instance was restored from a backup at [^,]+, which does not have all/;
  assert.match(refused.text, text);
  const consumer = await service.request('/api/webhooks/consumers/reader', {
    method: 'PUT',
    token: true,
    body: { cursor: lost.nextCursor },
  });
  assert.equal(consumer.status, 400);
  assert.match(consumer.text, text);
  await service.addPost('after');
  const after = await feed(before.nextCursor);
  assert.equal(after.status, 200);
  assert.equal(after.json.items.length, 1);
  assert.notEqual(after.json.items[0].id, lost.items[0].id);
});
