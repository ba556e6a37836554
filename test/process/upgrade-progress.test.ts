import assert from 'node:assert/strict';
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { startService } from '../support/service.ts';

test('the readiness probe and the metrics count the instances that are still to be upgraded', async (t) => {
  const service = await startService(t);
  const { id } = await service.app.data.directory.create('shop', null);
  assert.equal((await service.request('/api/health/ready')).json.data.upgradesLeft, undefined);
  await service.stop();
  // It cannot be opened, and therefore not upgraded.
  truncateSync(join(service.data, 'instances', id, 'data.db'));
  for (const threads of ['0', '2']) {
    const control = new DatabaseSync(join(service.data, 'control.db'));
    control.exec(`UPDATE "$setting" SET value = '0 0' WHERE name = 'upgrade_checked'`);
    control.close();
    const next = await startService(t, { data: service.data, flags: { 'host-threads': threads } });
    await eventually('the other one is upgraded', async () => {
      const { status, json } = await next.request('/api/health/ready');
      assert.equal(status, 200);
      return json.data.upgradesLeft === 1;
    });
    const { text } = await next.request('/metrics', { token: true });
    assert.match(text, /^chancery_instances_to_upgrade 1$/m);
    await next.stop();
  }
});
