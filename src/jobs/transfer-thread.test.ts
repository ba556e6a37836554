import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startService } from '../../test/support/service.ts';
import { testConfig } from '../../test/support/test-config.ts';
import { TransferThread } from './transfer-thread.ts';

test('a job that comes while the idle thread ends has another thread', async (t) => {
  const service = await startService(t);
  const thread = new TransferThread(await testConfig(service.data, {}), 0);
  t.after(() => thread.stop());
  const job = {
    id: 'a',
    holder: '',
    instance: 'nobody',
    kind: 'backup',
    backup: 'a.zip',
    place: '',
    isAuto: false,
    state: 'running',
    requested: '',
    started: '',
    ended: '',
    bytes: 0,
    message: '',
  } as const;
  await assert.rejects(thread.run(job), { message: 'The instance was deleted.' });
  // Its timer was set before, for as long: the thread begins to end.
  await sleep(0);
  await assert.rejects(thread.run(job), { message: 'The instance was deleted.' });
});
