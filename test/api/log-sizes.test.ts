import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../support/service.ts';

test('entries of the log that are larger than they may be lack their last members', async (t) => {
  const service = await startService(t);
  const ask = (name: string): Promise<unknown> => service.request(`/api/collections/users/records?${name}`);
  const dataOf = async (name: string): Promise<Readonly<Record<string, unknown>>> => {
    const filter = encodeURIComponent(`message ~ 'records?${name}'`);
    const { json } = await service.request(`/api/logs?filter=${filter}`, { token: true });
    return json.items[0].data;
  };
  await ask('whole');
  const body = { logs: { maxDataSize: 100 } };
  await service.request('/api/settings', { method: 'PATCH', body, token: true });
  await ask('cut');
  assert.equal((await dataOf('whole'))['url'], '/api/collections/users/records?whole');
  const cut = await dataOf('cut');
  assert.ok(Buffer.byteLength(JSON.stringify(cut)) <= 100, JSON.stringify(cut));
  assert.deepEqual(Object.keys(cut).slice(0, 3), ['__pb_truncated__', 'type', 'auth']);
  assert.equal(cut['url'], undefined);
});
