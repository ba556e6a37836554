import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import sharp from 'sharp';
import { eventually } from '../support/eventually.ts';
import { getFile, type ServedFiles, startServedFiles } from '../support/served-files.ts';
import { RawConnection, rawRequest } from '../support/raw-http.ts';
import { S3StandIn } from '../support/s3-stand-in.ts';
import { refusalOf, superuserSdk } from '../support/sdk.ts';

interface Stage extends ServedFiles {
  readonly remote: S3StandIn;
  readonly prefix: string;
}

/** An instance whose files are kept in S3. */
async function startStage(t: TestContext): Promise<Stage> {
  const remote = await S3StandIn.open();
  t.after(() => remote[Symbol.asyncDispose]());
  const stage = await startServedFiles(t);
  const body = { s3: remote.settings };
  const set = await stage.service.request('/api/settings', { method: 'PATCH', token: true, body });
  assert.equal(set.status, 200, set.text);
  return { ...stage, remote, prefix: `${stage.collectionId}/${stage.id}` };
}

test('files in S3 are served as those on disk are', async (t) => {
  const { remote, prefix, put, get } = await startStage(t);
  await put('a.txt', 'hello');
  assert.deepEqual(remote.keys, [`${prefix}/a.txt`]);
  const { status, text, headers } = await get('a.txt');
  assert.deepEqual([status, text], [200, 'hello']);
  assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(headers.get('content-disposition'), 'attachment; filename="a.txt"');
  const etag = headers.get('etag') ?? '';
  assert.equal((await get('a.txt', { headers: { 'if-none-match': etag } })).status, 304);
  const part = await get('a.txt', { headers: { range: 'bytes=1-2' } });
  assert.deepEqual([part.status, part.text], [206, 'el']);
  const parts = await get('a.txt', { headers: { range: 'bytes=0-0,4-4' } });
  assert.match(parts.text, /\r\n\r\nh\r\n[^]*\r\n\r\no\r\n/);
  const large = Buffer.alloc(3_000_000, 'abcdefg');
  await put('b.txt', large);
  assert.ok((await get('b.txt')).bytes.equals(large));
  assert.equal((await get('a.txt')).status, 404, 'the record names it no more');
});

test('the type is that of the bytes where the store does not know it', async (t) => {
  const { remote, prefix, put, get } = await startStage(t);
  await put('a.txt', '<!doctype html>');
  remote.objects.set(`${prefix}/a.txt`, {
    bytes: Buffer.from('<!doctype html>'),
    type: 'binary/octet-stream',
    modified: new Date(),
  });
  assert.equal((await get('a.txt')).headers.get('content-type'), 'text/html; charset=utf-8');
});

test('thumbs of images in S3 are kept there', async (t) => {
  const { remote, prefix, put, get } = await startStage(t);
  const create = { width: 200, height: 200, channels: 3, background: '#f00' } as const;
  await put('p.png', await sharp({ create }).png().toBuffer());
  const { bytes } = await get('p.png?thumb=100x100');
  const { width, height } = await sharp(bytes).metadata();
  assert.deepEqual([width, height], [100, 100]);
  assert.deepEqual(remote.keys, [`${prefix}/p.png`, `${prefix}/thumbs_p.png/100x100_p.png`]);
});

test('while the store is away clients are told to come again, and the operator why', async (t) => {
  const { service, remote, put, get } = await startStage(t);
  await put('a.txt', 'hello');
  remote.faultOf = () => ({ kind: 'status', status: 403, code: 'AccessDenied' });
  const { status, headers, text } = await get('a.txt');
  assert.deepEqual([status, headers.get('retry-after')], [503, '5']);
  assert.ok(!text.includes('AccessDenied'));
  const reason = 'The store answered with status 403.';
  await eventually('it is logged', () => service.log.some(({ message }) => message.includes(reason)));
  remote.faultOf = () => undefined;
  assert.equal((await get('a.txt')).status, 200);
});

test('F-25 superusers test their store, and are told what is wrong without its secrets', async (t) => {
  const { service, remote } = await startStage(t);
  const pb = await superuserSdk(service);
  assert.equal(await pb.settings.testS3('storage'), true);
  assert.deepEqual(remote.keys, []);
  const problemOf = async (change: object, filesystem = 'storage'): Promise<string> => {
    await pb.settings.update({ s3: { ...remote.settings, ...change } });
    const { status, message } = await refusalOf(pb.settings.testS3(filesystem));
    assert.equal(status, 400);
    assert.ok(!message.includes('canary'), message);
    return message.replace('Failed to test the S3 filesystem. ', '');
  };
  assert.equal(
    await problemOf({ secret: 'canary' }),
    'The store answered with status 403 (SignatureDoesNotMatch).',
  );
  assert.equal(await problemOf({ bucket: 'none' }), 'The store has no such bucket.');
  assert.equal(await problemOf({ endpoint: 'http://169.254.169.254' }), 'The address is not allowed.');
  assert.equal(await problemOf({ endpoint: 'https://10.1.2.3' }), 'The address is not allowed.');
  assert.equal(await problemOf({ enabled: false }), 'It is not enabled in the settings.');
  assert.equal(await problemOf({}, 'backups'), 'It is not enabled in the settings.');
  assert.equal((await refusalOf(pb.settings.testS3('elsewhere'))).status, 400);
  remote.faultOf = ({ method }) => (method === 'GET' ? { kind: 'other bytes' } : undefined);
  assert.equal(await problemOf({}), 'The file that was read differs from the one that was stored.');
});

test('an upload goes to S3 before its record names it, and goes from there with the record', async (t) => {
  const { service, remote, collectionId } = await startStage(t);
  const pb = await superuserSdk(service);
  const image = await sharp({ create: { width: 9, height: 9, channels: 3, background: '#f00' } })
    .png()
    .toBuffer();
  const made = await pb.collection('docs').create({ file: new File([new Uint8Array(image)], 'Red dot.png') });
  const key = `${collectionId}/${made.id}/${made['file']}`;
  assert.deepEqual(remote.keys, [key]);
  assert.equal(remote.objects.get(key)?.type, 'image/png');
  const url = pb.files.getURL(made, made['file'], { thumb: '100x100' });
  assert.equal((await getFile(url)).headers.get('content-type'), 'image/png');
  assert.equal(remote.keys.length, 2);
  remote.faultOf = ({ method }) => (method === 'PUT' ? { kind: 'status', status: 403 } : undefined);
  const refused = await refusalOf(pb.collection('docs').create({ file: new File(['b'], 'b.txt') }));
  assert.equal(refused.status, 503);
  assert.equal((await pb.collection('docs').getList(1, 9)).totalItems, 2);
  remote.faultOf = () => undefined;
  await pb.collection('docs').delete(made.id);
  await eventually('the file is removed with its thumb', () => remote.keys.length === 0);
});

test('a client that goes away in the middle of a file in S3 is nothing to log', async (t) => {
  const { service, put, get, id } = await startStage(t);
  await put('large.txt', Buffer.alloc(24 * 1024 * 1024, 'abcdefgh'));
  const client = RawConnection.open(t, service.url);
  client.socket.pause();
  client.send(rawRequest(`GET /api/files/docs/${id}/large.txt`));
  await eventually('it is sent', () => client.socket.bytesRead > 0 || client.socket.readableLength > 0);
  client.socket.destroy();
  assert.equal((await get('large.txt')).bytes.length, 24 * 1024 * 1024);
  assert.deepEqual(
    service.log.filter(({ level }) => level === 'error'),
    [],
  );
});
