// Both engines: names of files are read in the database.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { type ServedFiles, startServedFiles } from '../support/served-files.ts';
import { storageOf } from '../support/import-into.ts';
import { type CommandResult, runInProcess } from '../support/run-in-process.ts';
import { S3StandIn } from '../support/s3-stand-in.ts';
import { databaseOf, masterKey, testEngine } from '../support/test-config.ts';

interface Stage extends ServedFiles {
  readonly remote: S3StandIn;
  /** Runs `files copy` while the server runs. */
  readonly copy: (...args: readonly string[]) => Promise<CommandResult>;
  readonly enable: (isEnabled: boolean) => Promise<void>;
  readonly key: (name: string) => string;
}

const large = Buffer.alloc(17 * 1024 * 1024, 'abcdefghijk');

async function startStage(t: TestContext): Promise<Stage> {
  const remote = await S3StandIn.open();
  t.after(() => remote[Symbol.asyncDispose]());
  const stage = await startServedFiles(t);
  const { service, collectionId, id } = stage;
  const enable = async (enabled: boolean): Promise<void> => {
    const body = { s3: { ...remote.settings, enabled } };
    const set = await service.request('/api/settings', { method: 'PATCH', token: true, body });
    assert.equal(set.status, 200, set.text);
  };
  const place = testEngine === 'postgres' ? ['--postgres', await databaseOf(service.data)] : [];
  return {
    ...stage,
    remote,
    enable,
    key: (name) => `${collectionId}/${id}/${name}`,
    copy: (...args) =>
      runInProcess(['files', 'copy', '--data', service.data, ...place, '--dev', ...args], {
        environment: { CHANCERY_KEY: masterKey },
      }),
  };
}

test('all files go to S3 and back, while the server runs, and each is there as it was', async (t) => {
  const { service, remote, copy, enable, key, put, get, collectionId, id } = await startStage(t);
  await enable(false);
  await put('a.txt', 'hello');
  await put('b.txt', large, 'more');
  await put('c.txt', '', 'safe');
  const copied = await copy('--to', 's3');
  const bytes = large.length + 5;
  assert.equal(
    copied.stdout,
    `Copied 3 files (${bytes} bytes) to S3; 0 were there already.\nThey are used once s3.enabled is true in the settings. Then run this again, for what was uploaded meanwhile.\n`,
  );
  assert.deepEqual(remote.keys, ['a.txt', 'b.txt', 'c.txt'].map(key));
  assert.ok(remote.objects.get(key('b.txt'))?.bytes.equals(large));
  await enable(true);
  assert.equal((await get('a.txt')).text, 'hello');
  assert.ok((await get('b.txt')).bytes.equals(large));
  await put('d.txt', 'new');
  const back = await copy('--to', 'disk');
  assert.match(
    back.stdout,
    /^Copied 1 files \(3 bytes\) to the disk; 3 were there already\.\nThey are used once/,
  );
  await enable(false);
  assert.equal((await get('d.txt')).text, 'new');
  const instanceId = service.app.data.directory.all()[0]?.id ?? '';
  const storage = storageOf(service, instanceId);
  assert.deepEqual(readdirSync(join(storage, '../uploads')), []);
  assert.deepEqual(readdirSync(join(storage, collectionId, id)).toSorted(), [
    'a.txt',
    'b.txt',
    'c.txt',
    'd.txt',
  ]);
});

test('a copy that was cut off goes on where it was', async (t) => {
  const { remote, copy, enable, key, put } = await startStage(t);
  await enable(false);
  for (const name of ['a.txt', 'b.txt', 'c.txt']) await put(name, name, 'more');
  remote.faultOf = ({ method, key: asked }) =>
    method === 'PUT' && asked === key('c.txt')
      ? { kind: 'status', status: 403, code: 'AccessDenied' }
      : undefined;
  const failed = await copy('--to', 's3');
  assert.deepEqual(
    [failed.code, failed.stderr],
    [69, 'chancery: The store answered with status 403 (AccessDenied).\n'],
  );
  remote.faultOf = () => undefined;
  const { stdout } = await copy('--to', 's3');
  assert.match(stdout, /^Copied [123] files \(\d+ bytes\) to S3; [012] were there already\./);
  assert.deepEqual(remote.keys, ['a.txt', 'b.txt', 'c.txt'].map(key));
  assert.match(
    (await copy('--to', 's3')).stdout,
    /^Copied 0 files \(0 bytes\) to S3; 3 were there already\./,
  );
});

test('what is read there and is something else is an error, and found by comparing', async (t) => {
  const { remote, copy, enable, key, put } = await startStage(t);
  await enable(false);
  await put('a.txt', 'hello');
  remote.faultOf = ({ method }) => (method === 'GET' ? { kind: 'other bytes' } : undefined);
  const { code, stderr } = await copy('--to', 's3');
  assert.equal(code, 69);
  assert.ok(stderr.includes(`The copy of ${key('a.txt')} differs from its source.`), stderr);
  remote.faultOf = () => undefined;
  remote.objects.set(key('a.txt'), { bytes: Buffer.from('olleh'), type: 'text/plain', modified: new Date() });
  assert.match((await copy('--to', 's3')).stdout, /^Copied 0 files/);
  assert.match((await copy('--to', 's3', '--compare')).stdout, /^Copied 1 files/);
  assert.equal(remote.text(key('a.txt')), 'hello');
  assert.match((await copy('--to', 's3', '--compare')).stdout, /^Copied 0 files/);
});

test('without a store in the settings, or with one that the operator does not allow, nothing is copied', async (t) => {
  const { service, copy, enable, put } = await startStage(t);
  await put('a.txt', 'hello');
  const none = await copy('--to', 's3');
  assert.equal(none.stderr, 'chancery: There is no store to copy to: s3.bucket is empty in the settings.\n');
  await enable(false);
  const place = testEngine === 'postgres' ? ['--postgres', await databaseOf(service.data)] : [];
  const strict = await runInProcess(['files', 'copy', '--data', service.data, ...place, '--to', 's3'], {
    environment: { CHANCERY_KEY: masterKey },
  });
  assert.equal(strict.stderr, 'chancery: The address is not allowed.\n');
  assert.equal((await copy('--to', 'moon')).code, 64);
});
