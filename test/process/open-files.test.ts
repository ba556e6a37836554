import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import PocketBase from 'pocketbase';
import { eventually } from '../support/eventually.ts';
import { MainProcess } from '../support/main-process.ts';
import { RawConnection, rawRequest } from '../support/raw-http.ts';
import { Receiver } from '../support/receiver.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const openFilesMax = 256;
const superuser = { email: 'root@example.com', password: 'correct horse' };

test('H-05 idle clients that take every connection leave files for webhooks, and further clients are closed', async (t) => {
  const { url, started } = await startLimited(t);
  const receiver = await Receiver.open();
  t.after(() => receiver.close());
  const pb = new PocketBase(url);
  await pb.collection('_superusers').authWithPassword(superuser.email, superuser.password);
  await pb.collections.create({ name: 'posts', type: 'base', fields: [], createRule: '' });
  await pb.send('/api/webhooks/endpoints', { method: 'POST', body: { url: receiver.url } });

  const told = await started.waitForLog(/limit of open files/);
  assert.deepEqual([told['openFilesMax'], told['connectionsMax']], [openFilesMax, openFilesMax / 2]);
  const connections = Array.from({ length: openFilesMax + 44 }, () => RawConnection.open(t, url));
  for (const connection of connections) connection.send(rawRequest('GET /api/health'));
  await eventually('each connection is answered or closed', () =>
    connections.every(({ answers, isClosed }) => isClosed || answers.length === 1),
  );
  const kept = connections.filter(({ isClosed }) => !isClosed);
  assert.ok(kept.length > openFilesMax / 4 && kept.length <= openFilesMax / 2, `${kept.length} are kept`);

  const [first] = kept;
  assert.ok(first);
  first.send(rawRequest('POST /api/records/posts', {}, '{}'));
  const [, created] = await first.waitForAnswers(2);
  assert.equal(created?.status, 201);
  await receiver.waitForRequests(1);
  const late = RawConnection.open(t, url);
  late.send(rawRequest('GET /api/health'));
  await late.waitForEnd();
  assert.deepEqual(late.answers, []);
});

async function startLimited(
  t: TestContext,
): Promise<{ readonly url: string; readonly started: MainProcess }> {
  const data = temporaryFolder(t);
  await runInProcess(['superuser', 'upsert', superuser.email, superuser.password, '--data', data]);
  const started = new MainProcess(['serve', '--data', data, '--port', '0', '--dev'], {}, { openFilesMax });
  t.after(async () => {
    started.kill('SIGKILL');
    await started.ended;
  });
  const { url } = await started.waitForLog(/listens on/);
  return { url: String(url), started };
}
