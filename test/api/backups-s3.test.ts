// Both engines: the files are those that records of either name.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { S3StandIn } from '../support/s3-stand-in.ts';
import { type ServedFiles, startServedFiles } from '../support/served-files.ts';

interface Stage extends ServedFiles {
  /** The store of the files. */
  readonly files: S3StandIn;
  /** That of the backups. */
  readonly backups: S3StandIn;
  readonly ask: (
    method: string,
    path: string,
    body?: object,
  ) => Promise<{ readonly status: number; readonly text: string }>;
}

/** An instance that keeps its files in one bucket and its backups in another. */
async function startStage(t: TestContext): Promise<Stage> {
  const [files, backups] = [await S3StandIn.open(), await S3StandIn.open()];
  t.after(() => files[Symbol.asyncDispose]());
  t.after(() => backups[Symbol.asyncDispose]());
  const stage = await startServedFiles(t);
  const ask: Stage['ask'] = (method, path, body) =>
    stage.service.request(path, { method, token: true, ...(body && { body }) });
  const set = await ask('PATCH', '/api/settings', { s3: files.settings, backups: { s3: backups.settings } });
  assert.equal(set.status, 200, set.text);
  return { ...stage, files, backups, ask };
}

test('files in S3 are in a backup, which is kept in S3, and come back to the bucket with it', async (t) => {
  const { files, backups, service, ask, put, get } = await startStage(t);
  await put('a.txt', 'hello');
  const [key = ''] = files.keys;
  assert.equal((await ask('POST', '/api/backups', { name: 'one.zip' })).status, 204);
  assert.deepEqual(backups.keys, ['one.zip']);
  backups.objects.set('folder/other.zip', { bytes: Buffer.from('x'), type: 'a/b', modified: new Date() });
  backups.objects.set('notes.txt', { bytes: Buffer.from('x'), type: 'a/b', modified: new Date() });
  const listed: readonly { readonly key: string }[] = JSON.parse((await ask('GET', '/api/backups')).text);
  assert.deepEqual(
    listed.map((one) => one.key),
    ['one.zip'],
  );
  files.objects.delete(key);
  assert.equal((await get('a.txt')).status, 404);
  const restored = await ask('POST', '/api/backups/one.zip/restore');
  assert.equal(restored.status, 204, restored.text);
  await eventually('it is served', async () => (await fetch(`${service.url}/api/health`)).status === 200);
  assert.deepEqual(files.keys, [key]);
  assert.equal((await get('a.txt')).text, 'hello');
  assert.equal((await ask('DELETE', '/api/backups/one.zip')).status, 204);
  assert.equal(backups.objects.has('one.zip'), false);
});

test('a store that fails leaves no backup, changes nothing, and is named in the answer', async (t) => {
  const { backups, ask, put, get } = await startStage(t);
  await put('a.txt', 'hello');
  for (const fault of [
    { kind: 'status', status: 403, code: 'AccessDenied' },
    { kind: 'status', status: 404, code: 'NoSuchBucket' },
    { kind: 'cut' },
  ] as const) {
    backups.faultOf = ({ method }) => (method === 'PUT' ? fault : undefined);
    const { status, text } = await ask('POST', '/api/backups', { name: 'one.zip' });
    assert.ok(status === 400 || status === 503, text);
    assert.deepEqual(backups.keys, []);
  }
  backups.faultOf = () => undefined;
  assert.equal((await ask('POST', '/api/backups', { name: 'one.zip' })).status, 204);
  backups.faultOf = ({ method }) => (method === 'GET' ? { kind: 'cut' } : undefined);
  const { status, text } = await ask('POST', '/api/backups/one.zip/restore');
  assert.ok(status === 400 || status === 503, text);
  backups.faultOf = () => undefined;
  assert.equal((await get('a.txt')).text, 'hello');
});
