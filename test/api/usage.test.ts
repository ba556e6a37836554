// Both engines: each counts records and bytes in its own way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readUsage } from '../../src/logs/read-usage.ts';
import { EventStream } from '../support/event-stream.ts';
import { startService } from '../support/service.ts';
import { openDataDirectory } from '../../src/open-data-directory.ts';
import { testConfig } from '../support/test-config.ts';

test('a service that stops has written what each of its instances has used', async (t) => {
  const service = await startService(t);
  const { directory } = service.app.data;
  const { id } = await directory.create('other', null);
  const fields = [{ name: 'title', type: 'text' }];
  await service.request('/api/collections', {
    method: 'POST',
    token: true,
    body: { name: 'posts', listRule: '', fields },
  });
  for (let count = 0; count < 3; count += 1)
    await service.request('/api/records/posts', { method: 'POST', token: true, body: { title: 'x' } });
  assert.equal((await service.request('/api/records/posts')).status, 200);
  assert.equal((await service.request('/api/records/nothing', { method: 'POST', body: {} })).status, 404);
  const stream = await EventStream.open(t, service.url);
  assert.equal((await service.request('/i/other/api/health')).status, 200);
  const defaultId = directory.findBySlug('default')?.id ?? '';
  await service.stop();
  stream.close();
  const data = await openDataDirectory(await testConfig(service.data), {});
  t.after(() => data.stop());
  const usage = await readUsage(data.home.control, { from: 0, to: Date.now() + 1, step: 'day' });
  const [own, other] = [defaultId, id].map((one) => usage.find(({ instance }) => instance === one));
  // What the support of tests has asked for before counts too.
  assert.deepEqual([own?.writes, own?.events, own?.records], [4, 3, 3]);
  assert.ok(own !== undefined && own.requests >= 7 && own.sentBytes > 100 && (own.dataBytes ?? 0) > 8_000);
  assert.deepEqual([other?.requests, other?.writes, other?.events], [1, 0, 0]);
});
