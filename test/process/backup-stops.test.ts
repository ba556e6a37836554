import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import PocketBase from 'pocketbase';
import { eventually } from '../support/eventually.ts';
import { serveMain, type ServingMain } from '../support/main-process.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { S3StandIn } from '../support/s3-stand-in.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface Stage {
  readonly data: string;
  readonly serving: ServingMain;
  readonly pb: PocketBase;
}

/** Requests have ten seconds to end, and jobs five. */
const stopMsMax = 20_000;

async function setUp(t: TestContext): Promise<Stage> {
  const data = temporaryFolder(t);
  await runInProcess(['superuser', 'upsert', 'root@example.com', 'correct horse', '--data', data]);
  const serving = await serveMain(t, data);
  const pb = await signIn(serving);
  await pb.collections.create({ name: 'posts', type: 'base', fields: [{ name: 'title', type: 'text' }] });
  await pb.collection('posts').create({ title: 'kept' });
  return { data, serving, pb };
}

async function signIn({ url }: ServingMain): Promise<PocketBase> {
  const pb = new PocketBase(url);
  pb.autoCancellation(false);
  await pb.collection('_superusers').authWithPassword('root@example.com', 'correct horse');
  return pb;
}

/** Stops the server in the middle of its job, and starts it again. */
async function startAgain(t: TestContext, { data, serving }: Stage): Promise<PocketBase> {
  serving.process.kill('SIGTERM');
  await eventually('the process ends', () => serving.process.hasEnded, stopMsMax);
  const { code, stderr } = await serving.process.ended;
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  const partial = join(data, 'backups', '.partial');
  assert.deepEqual(existsSync(partial) ? readdirSync(partial) : [], []);
  const pb = await signIn(await serveMain(t, data));
  // At once: nobody has to wait for a lease to end.
  const { running, failure } = await pb.send('/api/backups/status', {});
  assert.deepEqual([running, failure.message], [null, 'The service was stopped.']);
  return pb;
}

test('SIGTERM ends a backup whose store does not answer: it is marked as failed, and the next one is made', async (t) => {
  const store = await S3StandIn.open();
  t.after(() => store[Symbol.asyncDispose]());
  const stage = await setUp(t);
  await stage.pb.send('/api/settings', { method: 'PATCH', body: { backups: { s3: store.settings } } });
  store.faultOf = ({ method }) => (method === 'PUT' ? { kind: 'hang' } : undefined);
  const asked = stage.pb.backups.create('one.zip').catch((error: unknown) => error);
  await eventually('it is being stored', () => store.requests.some(({ method }) => method === 'PUT'));
  const pb = await startAgain(t, stage);
  assert.ok((await asked) instanceof Error);
  store.faultOf = () => undefined;
  assert.deepEqual(store.keys, []);
  await pb.backups.create('one.zip');
  assert.deepEqual(store.keys, ['one.zip']);
});

test('SIGTERM in the middle of an exchange undoes the restore: the instance is served as it was', async (t) => {
  const stage = await setUp(t);
  const { data, serving } = stage;
  await stage.pb.backups.create('one.zip');
  await stage.pb.collection('posts').create({ title: 'later' });
  const before = readdirSync(join(data, 'instances'));
  const asked = stage.pb.backups.restore('one.zip').catch((error: unknown) => error);
  await eventually(
    'it is being replaced',
    async () => (await fetch(`${serving.url}/api/health`)).status === 503,
  );
  const pb = await startAgain(t, stage);
  assert.ok((await asked) instanceof Error);
  assert.deepEqual(readdirSync(join(data, 'instances')), before);
  assert.equal((await pb.collection('posts').getList(1, 1)).totalItems, 2);
  await pb.collection('posts').create({ title: 'after' });
  await pb.backups.restore('one.zip');
  await eventually(
    'it is restored',
    async () => (await pb.collection('posts').getList(1, 1)).totalItems === 1,
  );
});
