import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../support/service.ts';
import { testEngine } from '../support/test-config.ts';

test('health is public, and tells superusers more', async (t) => {
  const service = await startService(t);
  const asGuest = await service.request('/api/health');
  assert.equal(asGuest.status, 200);
  assert.equal(asGuest.text, '{"code":200,"message":"API is healthy.","data":{}}');
  const asSuperuser = await service.request('/api/health', { token: true });
  assert.equal(asSuperuser.json.data.engine, testEngine);
  assert.equal(asSuperuser.json.data.oldestUndeliveredSeconds, 0);
});

test('probes tell whether the process is alive and ready', async (t) => {
  const service = await startService(t);
  assert.equal((await service.request('/api/health/live')).status, 200);
  assert.equal((await service.request('/api/health/ready')).status, 200);
});
