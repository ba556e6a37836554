// Both engines: records and events are counted by SQL of each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectionStats } from '../../src/records/collection-stats.ts';
import { operator } from '../../src/access/caller.ts';
import { makeKey } from '../support/make-key.ts';
import { MovableClock } from '../support/movable-clock.ts';
import { startService, type TestService } from '../support/service.ts';
import { listOf } from '../support/webhook-service.ts';

const stats = '/api/collections/meta/stats';

async function fill(
  service: TestService,
): Promise<(method: string, path: string, body?: object) => Promise<string>> {
  const send = async (method: string, path: string, body?: object): Promise<string> => {
    const answer = await service.request(`/api/collections${path}`, {
      method,
      token: true,
      ...(body && { body }),
    });
    assert.ok(answer.status < 300, answer.text);
    return answer.status === 204 ? '' : answer.json.id;
  };
  for (const name of ['orders', 'notes'])
    await send('POST', '', { name, fields: [{ name: 'title', type: 'text' }] });
  const first = await send('POST', '/orders/records', { title: 'a' });
  const second = await send('POST', '/orders/records', { title: 'b' });
  await send('POST', '/orders/records', { title: 'c' });
  await send('PATCH', `/orders/records/${first}`, { title: 'A' });
  await send('DELETE', `/orders/records/${second}`);
  return send;
}

test('one request counts the records of all collections, and their changes of a day', async (t) => {
  const clock = new MovableClock(Date.parse('2026-11-20T12:00:00Z'));
  const service = await startService(t, { parts: { clock } });
  const send = await fill(service);
  await send('POST', '', { name: 'titles', type: 'view', viewQuery: 'SELECT id, title FROM orders' });
  const read = async () => (await service.request(stats, { token: true })).json;
  const none = { recordsIsAtLeast: false, created: 0, updated: 0, deleted: 0 };
  const { collections, ...bounds } = await read();
  assert.deepEqual(
    listOf(collections).map(({ id: _id, ...rest }) => rest),
    [
      { name: 'notes', type: 'base', records: 0, ...none },
      { name: 'orders', type: 'base', records: 2, ...none, created: 3, updated: 1, deleted: 1 },
      { name: 'titles', type: 'view', records: null, ...none },
      { name: 'users', type: 'auth', records: 0, ...none },
    ],
  );
  assert.deepEqual(bounds, { recordsMax: 500_000, changesMax: 65_536, changesIsAtLeast: false });
  clock.move(25 * 3_600_000);
  // The token has expired by now.
  const later = await service.withInstance('default', async (instance) =>
    collectionStats(instance, operator),
  );
  const [, orders] = later.collections;
  assert.deepEqual([orders?.records, orders?.created, orders?.updated], [2, 0, 0]);
});

test('no more records and events are counted than the answer says', async (t) => {
  const service = await startService(t);
  const send = await fill(service);
  const rows = Array.from({ length: 1_000 }, () => ({
    method: 'POST',
    url: '/api/collections/notes/records',
    body: { title: 'x' },
  }));
  for (let at = 0; at < rows.length; at += 50)
    await service.request('/api/batch', {
      method: 'POST',
      token: true,
      body: { requests: rows.slice(at, at + 50) },
    });
  await send('POST', '/notes/records', { title: 'one more' });
  const few = await service.withInstance('default', async (instance) =>
    collectionStats(instance, operator, { recordsAll: 1, changesMax: 2 }),
  );
  const [notes, orders] = few.collections;
  assert.deepEqual([notes?.records, notes?.recordsIsAtLeast, notes?.created], [1_000, true, 2]);
  assert.deepEqual([orders?.records, orders?.recordsIsAtLeast, orders?.created], [2, false, 0]);
  assert.ok(few.changesIsAtLeast);
});

test('a key is told of the collections that it reaches', async (t) => {
  const service = await startService(t);
  await fill(service);
  const { key } = await makeKey(service, ['records:read'], { collections: ['notes'] });
  const { collections } = (await service.request(stats, { token: key })).json;
  assert.deepEqual(
    listOf(collections).map(({ name }) => name),
    ['notes'],
  );
});
