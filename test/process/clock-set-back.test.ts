import assert from 'node:assert/strict';
import { test } from 'node:test';
import PocketBase from 'pocketbase';
import { eventually } from '../support/eventually.ts';
import { serveMain } from '../support/main-process.ts';
import { Receiver } from '../support/receiver.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Loaded into the server before anything else: at a signal its machine's clock is set back by an hour. */
const settable = `
  const now = Date.now;
  process.on('SIGUSR2', () => {
    Date.now = () => now() - 3_600_000;
    console.log('{"msg":"set back"}');
  });`;

test('what waits for another attempt is sent when its pause is over, though the clock was set back meanwhile', async (t) => {
  const data = temporaryFolder(t);
  const receiver = await Receiver.open({ mode: { kind: 'status', status: 500 } });
  t.after(() => receiver.close());
  await runInProcess(['superuser', 'upsert', 'root@example.com', 'correct horse', '--data', data]);
  const environment = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(settable)}` };
  const { process: server, url } = await serveMain(t, data, { environment });
  const pb = new PocketBase(url);
  await pb.collection('_superusers').authWithPassword('root@example.com', 'correct horse');
  await pb.collections.create({ name: 'posts', type: 'base', fields: [{ name: 'title', type: 'text' }] });
  const body = { url: receiver.url, schedule: [3] };
  await pb.send('/api/webhooks/endpoints', { method: 'POST', body });
  await pb.collection('posts').create({ title: 'x' });
  await eventually('it has failed', async () => {
    const { items } = await pb.send<{ items: { attempts: unknown[] }[] }>('/api/webhooks/deliveries', {});
    return items[0]?.attempts.length === 1;
  });
  server.kill('SIGUSR2');
  await server.waitForLog(/set back/);
  const requests = await eventually(
    'the next attempt',
    () => receiver.requests.length > 1 && receiver.requests,
  );
  assert.equal(requests[1]?.headers['x-service-attempt'], '2');
});
