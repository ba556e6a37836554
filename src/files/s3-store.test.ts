import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { S3StandIn } from '../../test/support/s3-stand-in.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { systemClock } from '../base/clock.ts';
import { loopbackRanges, type NetworkPolicy } from '../network/address-guard.ts';
import { GuardedRequests } from '../network/guarded-requests.ts';
import type { S3Settings } from '../settings/settings.ts';
import { S3Client, S3Failure } from './s3-client.ts';
import { S3Store } from './s3-store.ts';

interface Stage {
  readonly remote: S3StandIn;
  readonly store: S3Store;
  readonly open: (change: Partial<S3Settings>, policy?: NetworkPolicy) => S3Store;
  readonly put: (key: string, content: string | Uint8Array, store?: S3Store) => Promise<void>;
}

const local: NetworkPolicy = { allowHttp: false, allowed: loopbackRanges };

async function startStage(t: TestContext): Promise<Stage> {
  const remote = await S3StandIn.open();
  t.after(() => remote[Symbol.asyncDispose]());
  const folder = temporaryFolder(t);
  const open = (change: Partial<S3Settings>, policy = local): S3Store => {
    const requests = new GuardedRequests({ policy, clock: systemClock });
    t.after(() => requests.stop());
    return new S3Store(
      new S3Client({ settings: { ...remote.settings, ...change }, requests, clock: systemClock }),
    );
  };
  const store = open({});
  return {
    remote,
    store,
    open,
    put: async (key, content, to = store) => {
      const path = join(folder, 'upload');
      await writeFile(path, content);
      await to.put(key, { path, size: Buffer.byteLength(content), type: 'text/csv' });
    },
  };
}

async function keysOf(store: S3Store): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list()) keys.push(key);
  return keys;
}

/** Returns why a store has failed. */
async function reasonOf(failing: Promise<unknown>): Promise<string> {
  const error = await failing.then(
    () => 'it did not fail',
    (error: unknown) => error,
  );
  return error instanceof S3Failure ? error.reason : String(error);
}

test('a stored file is found, read whole and in part, and removed with what was made of it', async (t) => {
  const { remote, store, put } = await startStage(t);
  assert.equal(await store.find('c/r/a.csv'), undefined);
  assert.equal(await store.read('c/r/a.csv'), undefined);
  await put('c/r/a.csv', 'hello');
  const state = await store.find('c/r/a.csv');
  assert.deepEqual([state?.size, state?.type], [5, 'text/csv']);
  assert.ok(Math.abs((state?.modifiedMs ?? 0) - Date.now()) < 60_000);
  const whole = await store.read('c/r/a.csv');
  assert.equal(whole && (await text(whole)), 'hello');
  const part = await store.read('c/r/a.csv', { first: 1, last: 3 });
  assert.equal(part && (await text(part)), 'ell');
  await put('c/r/thumbs_a.csv/100x100_a.csv', 'small');
  await put('c/r/b.csv', '');
  assert.equal((await store.find('c/r/b.csv'))?.size, 0);
  await store.remove('c/r/a.csv');
  await store.remove('c/r/a.csv');
  assert.deepEqual(remote.keys, ['c/r/b.csv']);
  assert.equal(remote.refusedCount, 0);
});

test('all files are listed, page by page, and all of a folder removed', async (t) => {
  const { remote, store, put } = await startStage(t);
  const keys = Array.from({ length: 10 }, (_, at) => `c/r${at}/a_${at}.txt`);
  for (const key of keys) await put(key, key);
  await put('c/r1/thumbs_a_1.txt/100x100_a_1.txt', 'small');
  await put('c/r1/a_1.txt.attrs', '{}');
  await put('d/r/a.txt', 'other');
  assert.deepEqual(await keysOf(store), [...keys, 'd/r/a.txt'].toSorted());
  await store.removeAll('c');
  assert.deepEqual(remote.keys, ['d/r/a.txt']);
  await store.removeAll('c');
});

test('keys of any characters are signed and stored as they are', async (t) => {
  const { remote, store, put } = await startStage(t);
  const keys = ['c/r/a b+c&d=e?.txt', "c/r/é'(*)!~@:$,;#%41.txt", 'c/r/<a>"&amp;.txt'];
  for (const key of keys) {
    await put(key, key);
    const read = await store.read(key);
    assert.equal(read && (await text(read)), key);
  }
  assert.deepEqual(remote.keys, keys.toSorted());
  assert.deepEqual((await keysOf(store)).toSorted(), keys.toSorted());
  for (const key of keys) await store.remove(key);
  assert.deepEqual(remote.keys, []);
  await assert.rejects(store.find('c/../d'), /a key is made of names/);
});

test('a bucket is named by its host, or by a path below that of the endpoint', async (t) => {
  const { remote, open, put } = await startStage(t);
  await put('c/r/a.txt', 'by host', open({ forcePathStyle: false }));
  assert.equal(remote.text('c/r/a.txt'), 'by host');
  const endpoint = remote.settings.endpoint.replace('http://', '');
  assert.match(await reasonOf(open({ endpoint }).find('c/r/a.txt')), /^The TLS handshake failed/);
});

test('a large file is sent in parts, of which none stays when one fails', async (t) => {
  const { remote, store, put } = await startStage(t);
  const content = Buffer.alloc(33 * 1024 * 1024 + 7, 'abcdefghijk');
  await put('c/r/large.bin', content);
  assert.ok(remote.objects.get('c/r/large.bin')?.bytes.equals(content));
  const read = await store.read('c/r/large.bin');
  assert.ok(read && content.equals(await buffer(read)));
  remote.faultOf = ({ query }) =>
    query.get('partNumber') === '2' ? { kind: 'status', status: 403, code: 'AccessDenied' } : undefined;
  assert.equal(
    await reasonOf(put('c/r/b.bin', content)),
    'The store answered with status 403 (AccessDenied).',
  );
  assert.equal(remote.uploads.size, 0);
  assert.equal(await store.find('c/r/b.bin'), undefined);
  remote.faultOf = ({ method, query }) =>
    method === 'POST' && query.has('uploadId') ? { kind: 'error in 200' } : undefined;
  assert.equal(
    await reasonOf(put('c/r/b.bin', content)),
    'The store answered with status 200 (InternalError).',
  );
  assert.equal(await store.find('c/r/b.bin'), undefined);
});

test('temporary failures are retried, and permanent ones are not', async (t) => {
  const { remote, store, put } = await startStage(t);
  await put('c/r/a.txt', 'hello');
  let faults = 0;
  const failTwice = (fault: 'cut' | number) => (): ReturnType<S3StandIn['faultOf']> => {
    faults += 1;
    if (faults > 2) return undefined;
    return fault === 'cut' ? { kind: 'cut' } : { kind: 'status', status: fault };
  };
  for (const fault of ['cut', 500, 503, 429] as const) {
    faults = 0;
    remote.faultOf = failTwice(fault);
    await put('c/r/b.txt', `after ${fault}`);
    assert.equal(remote.text('c/r/b.txt'), `after ${fault}`);
    faults = 0;
    const read = await store.read('c/r/a.txt');
    assert.equal(read && (await text(read)), 'hello');
  }
  for (const [status, tries] of [
    [403, 1],
    [400, 1],
    [503, 4],
  ] as const) {
    remote.requests.length = 0;
    remote.faultOf = () => ({ kind: 'status', status, code: 'SlowDown' });
    assert.equal(
      await reasonOf(put('c/r/c.txt', 'x')),
      `The store answered with status ${status} (SlowDown).`,
    );
    assert.equal(remote.requests.length, tries);
  }
});

test('the reason for wrong secrets and buckets contains nothing of them', async (t) => {
  const { open, put } = await startStage(t);
  for (const [change, reason] of [
    [{ secret: 'canary' }, 'The store answered with status 403 (SignatureDoesNotMatch).'],
    [{ accessKey: 'canary' }, 'The store answered with status 403 (InvalidAccessKeyId).'],
    [{ bucket: 'none' }, 'The store has no such bucket.'],
    [{ bucket: 'a/../b' }, 'The bucket has a name that none can have.'],
    [{ bucket: '..' }, 'The bucket has a name that none can have.'],
    [{ endpoint: 'ftp://localhost' }, 'The endpoint is no address.'],
    [{ endpoint: 'http://localhost:1' }, 'The connection was refused.'],
    [{ endpoint: 'http://user:canary@localhost:1/a?b#c' }, 'The endpoint is no address.'],
  ] as const) {
    const failing = put('c/r/a.txt', 'x', open(change));
    assert.equal(await reasonOf(failing), reason);
    await assert.rejects(failing, (error: Error) => !JSON.stringify(error).includes('canary'));
  }
});

test('F-25 a store inside the network is refused, unless the operator has named it', async (t) => {
  const { remote, open } = await startStage(t);
  const refused = 'The address is not allowed.';
  const strict = { allowHttp: false, allowed: [] };
  for (const endpoint of [
    'http://169.254.169.254',
    'https://169.254.169.254',
    'https://10.0.0.1',
    'http://[::1]:1',
    'http://0x7f000001:1',
    remote.settings.endpoint,
    `https://127.0.0.1:${remote.port}`,
  ])
    assert.equal(await reasonOf(open({ endpoint }, strict).find('c/r/a')), refused, endpoint);
  assert.equal(await open({}).find('c/r/a'), undefined);
  assert.equal(remote.requests.length, 1);
});
