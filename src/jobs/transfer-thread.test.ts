import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../../test/support/service.ts';
import { testConfig } from '../../test/support/test-config.ts';
import { TransferThread } from './transfer-thread.ts';

test('a job that comes while the idle thread ends has another thread', async (t) => {
  const service = await startService(t);
  const thread = new TransferThread(await testConfig(service.data, {}));
  t.after(() => thread.stop());
  const job = {
    id: 'a',
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
  // As after half a minute without a job.
  const stopped = thread.stop();
  await assert.rejects(thread.run(job), { message: 'The instance was deleted.' });
  await stopped;
});
