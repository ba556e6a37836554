import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sql } from '../../src/sql/sql.ts';
import { getFile, startServedFiles } from '../support/served-files.ts';
import { importInto } from '../support/import-into.ts';
import { makeBlogDirectory } from '../support/pocketbase-blog.ts';
import { startService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

test('a file of a record is sent to whoever knows its address, with what tells caches and browsers of it', async (t) => {
  const { service, put, get, id, collectionId } = await startServedFiles(t);
  await put('a_1.png', png);
  const { status, headers, bytes } = await get('a_1.png');
  assert.equal(status, 200);
  assert.deepEqual(bytes, png);
  const shown = Object.fromEntries(headers);
  assert.match(String(shown['etag']), /^"[0-9a-z]+-[0-9a-z]+"$/);
  assert.ok(Math.abs(Date.parse(String(shown['last-modified'])) - Date.now()) < 60_000);
  const expected = {
    'content-type': 'image/png',
    'content-length': String(png.length),
    'content-disposition': 'inline; filename="a_1.png"',
    'content-security-policy': "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; sandbox",
    'cache-control': 'max-age=2592000, stale-while-revalidate=86400',
    'cross-origin-resource-policy': 'cross-origin',
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
    'x-frame-options': undefined,
    vary: 'Origin',
  };
  for (const [name, value] of Object.entries(expected)) assert.equal(shown[name], value, name);
  const byId = await service.request(`/api/files/${collectionId}/${id}/a_1.png`, { method: 'HEAD' });
  assert.deepEqual([byId.status, byId.headers.get('content-length')], [200, String(png.length)]);
  assert.equal(byId.headers.get('etag'), shown['etag']);
});

test('each file of a field of many is sent, and a large one as a stream', async (t) => {
  const { put, get } = await startServedFiles(t);
  const large = Buffer.alloc(3_000_000, 'abcdefghij');
  await put('large.txt', large, 'more');
  const answer = await get('large.txt');
  assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.ok(answer.bytes.equals(large));
  await put('none.txt', '', 'more');
  const none = await get('none.txt');
  assert.deepEqual([none.status, none.text, none.headers.get('content-length')], [200, '', '0']);
});

test('F-03 what no record names is not found: other names, thumbs, attributes, and files that are gone', async (t) => {
  const { service, put, get, id, collectionId } = await startServedFiles(t);
  await put('a.txt', 'hello');
  await put('b.txt', 'other');
  for (const path of [
    'a.txt',
    'b.txt.attrs',
    'thumbs_b.txt',
    'thumbs_b.txt%2F100x100_b.txt',
    '..%2Fb.txt',
    '%2e%2e',
    '..%5Cb.txt',
    'B.txt',
    'b.txt%20',
    'x'.repeat(300),
  ])
    assert.equal((await get(path)).status, 404, path);
  for (const path of [`docs/nobody/b.txt`, `nothing/${id}/b.txt`, `${collectionId}/..%2F${id}/b.txt`])
    assert.equal((await service.request(`/api/files/${path}`)).status, 404, path);
  assert.equal((await service.request(`/api/files/docs/${id}/b.txt`, { method: 'POST' })).status, 405);
  await service.withInstance('default', ({ files }) => files.store.remove(`${collectionId}/${id}/b.txt`));
  const gone = await get('b.txt');
  assert.deepEqual(
    [gone.status, gone.text],
    [404, `{"data":{},"message":"The requested resource wasn't found.","status":404}`],
  );
});

test('a name that an import has taken over leads nowhere else', async (t) => {
  const { service, get, id } = await startServedFiles(t);
  for (const name of ['../secret', '..', 'a/b', 'a\\b', '']) {
    await service.withInstance('default', ({ database }) =>
      database.write((tx) =>
        tx.run(sql`UPDATE ${tx.names.collectionTable('docs')} SET file = ${name} WHERE id = ${id}`),
      ),
    );
    // A client resolves the dots itself unless they are encoded.
    const path = encodeURIComponent(name).replaceAll('.', '%2E');
    assert.equal((await get(path)).status, 404, name);
  }
});

test('F-05 F-06 F-08 the type is that of the bytes, and what a browser would run is stored rather than shown', async (t) => {
  const { put, get } = await startServedFiles(t);
  const page = '<!doctype html><script>alert(1)</script>';
  for (const [name, content, type, kind] of [
    ['a.png', page, 'text/html; charset=utf-8', 'attachment'],
    ['a.html', png, 'image/png', 'inline'],
    ['a.png.html', page, 'text/html; charset=utf-8', 'attachment'],
    ['a.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/svg+xml', 'attachment'],
    ['a.xhtml', '<?xml version="1.0"?><html/>', 'application/xhtml+xml', 'attachment'],
    ['a.xml', '<?xml version="1.0"?><a/>', 'application/xml', 'attachment'],
    ['a.js', 'alert(1)', 'text/javascript; charset=utf-8', 'attachment'],
    ['a.css', 'a {}', 'text/css; charset=utf-8', 'attachment'],
    ['a.txt', 'text', 'text/plain; charset=utf-8', 'attachment'],
    ['a.bin', Buffer.from([1, 255]), 'application/octet-stream', 'attachment'],
    ['a.pdf', '%PDF-1.7\n', 'application/pdf', 'inline'],
    ['a', 'a', 'text/plain; charset=utf-8', 'attachment'],
  ] as const) {
    await put(name, content);
    const { headers } = await get(name);
    assert.equal(headers.get('content-type'), type, name);
    assert.equal(headers.get('content-disposition'), `${kind}; filename="${name}"`);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
  }
});

test('download has any file stored, when it is true', async (t) => {
  const { put, get } = await startServedFiles(t);
  await put('a.png', png);
  for (const [value, kind] of [
    ['1', 'attachment'],
    ['true', 'attachment'],
    ['T', 'attachment'],
    ['0', 'inline'],
    ['yes', 'inline'],
    ['', 'inline'],
  ] as const) {
    const { headers } = await get(`a.png?download=${value}`);
    assert.equal(headers.get('content-disposition'), `${kind}; filename="a.png"`, value);
  }
});

test('F-26 a name of any characters is quoted and encoded in its header', async (t) => {
  const { put, get } = await startServedFiles(t);
  for (const [name, expected] of [
    ['a b.txt', `attachment; filename="a b.txt"; filename*=UTF-8''a%20b.txt`],
    ['a"; x=y', `attachment; filename="a_; x=y"; filename*=UTF-8''a%22%3B%20x%3Dy`],
    ['a\r\nX: y', `attachment; filename="a__X: y"; filename*=UTF-8''a%0D%0AX%3A%20y`],
    ["é'(*).txt", `attachment; filename="_'(*).txt"; filename*=UTF-8''%C3%A9%27%28%2A%29.txt`],
  ] as const) {
    await put(name, 'x');
    const { status, headers } = await get(encodeURIComponent(name));
    assert.deepEqual([status, headers.get('content-disposition')], [200, expected]);
  }
});

test('a client that has the file is told so', async (t) => {
  const { put, get } = await startServedFiles(t);
  await put('a.txt', 'hello');
  const { headers } = await get('a.txt');
  const etag = headers.get('etag') ?? '';
  const modified = headers.get('last-modified') ?? '';
  const later = new Date(Date.parse(modified) + 1_000).toUTCString();
  const earlier = new Date(Date.parse(modified) - 1_000).toUTCString();
  for (const [asked, status] of [
    [{ 'if-none-match': etag }, 304],
    [{ 'if-none-match': `"x", W/${etag}` }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': '"x"' }, 200],
    [{ 'if-none-match': '"x"', 'if-modified-since': later }, 200],
    [{ 'if-modified-since': modified }, 304],
    [{ 'if-modified-since': later }, 304],
    [{ 'if-modified-since': earlier }, 200],
    [{ 'if-modified-since': 'today' }, 200],
  ] as const) {
    const answer = await get('a.txt', { headers: asked });
    assert.deepEqual(
      [answer.status, answer.text],
      [status, status === 200 ? 'hello' : ''],
      JSON.stringify(asked),
    );
    assert.equal(answer.headers.get('etag'), etag);
    assert.ok(answer.headers.get('cache-control'));
  }
});

for (const [size, pad] of [
  ['small', 0],
  ['large', 200_000],
] as const)
  test(`F-18 parts of a ${size} file are sent as its client asks`, async (t) => {
    const { put, get } = await startServedFiles(t);
    const content = `0123456789${'x'.repeat(pad)}`;
    await put('a.txt', content);
    const whole = await get('a.txt');
    const etag = whole.headers.get('etag') ?? '';
    const modified = whole.headers.get('last-modified') ?? '';
    const total = content.length;
    for (const [range, first, last] of [
      ['bytes=0-', 0, total - 1],
      ['bytes=2-4', 2, 4],
      ['bytes=-1', total - 1, total - 1],
      ['bytes=5-9999999', 5, total - 1],
    ] as const) {
      const { status, headers, text } = await get('a.txt', { headers: { range } });
      assert.deepEqual(
        [status, headers.get('content-range')],
        [206, `bytes ${first}-${last}/${total}`],
        range,
      );
      assert.ok(text === content.slice(first, last + 1), range);
    }
    for (const range of ['bytes=5-1', 'lines=0-1', 'bytes=0-1,1-2', `bytes=${'0-0,'.repeat(1_000)}1-1`]) {
      const { status, text } = await get('a.txt', { headers: { range } });
      assert.ok(status === 200 && text === content, range);
    }
    for (const range of ['bytes=9999999-', 'bytes=18446744073709551615-', 'bytes=-0']) {
      const { status, headers, text } = await get('a.txt', { headers: { range } });
      assert.deepEqual([status, headers.get('content-range')], [416, `bytes */${total}`], range);
      assert.equal(JSON.parse(text).status, 416);
    }
    for (const [condition, status] of [
      [etag, 206],
      [modified, 206],
      ['"x"', 200],
      [`W/${etag}`, 200],
      [new Date(0).toUTCString(), 200],
    ] as const) {
      const answer = await get('a.txt', { headers: { range: 'bytes=0-0', 'if-range': condition } });
      assert.equal(answer.status, status, condition);
    }
    const head = await get('a.txt', { method: 'HEAD', headers: { range: 'bytes=0-0' } });
    assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(total)]);
  });

for (const pad of [0, 200_000])
  test(`several parts of a file of ${pad + 10} bytes come as parts of one body`, async (t) => {
    const { put, get } = await startServedFiles(t);
    const content = `0123456789${'x'.repeat(pad)}`;
    await put('a.txt', content);
    const { status, headers, text } = await get('a.txt', { headers: { range: 'bytes=0-1,-1, 4-4' } });
    assert.equal(status, 206);
    const boundary = /^multipart\/byteranges; boundary=(\w+)$/.exec(headers.get('content-type') ?? '')?.[1];
    const total = content.length;
    const part = (first: number, last: number): string =>
      `\r\n--${boundary}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes ${first}-${last}/${total}\r\n\r\n${content.slice(first, last + 1)}`;
    assert.equal(text, `${part(0, 1)}${part(total - 1, total - 1)}${part(4, 4)}\r\n--${boundary}--\r\n`);
    assert.equal(headers.get('content-length'), String(text.length));
  });

test('F-28 a page of any origin may read a file, without credentials', async (t) => {
  const { put, get } = await startServedFiles(t);
  await put('a.txt', 'hello');
  const { headers } = await get('a.txt', { headers: { origin: 'https://elsewhere.example' } });
  assert.equal(headers.get('access-control-allow-origin'), '*');
  assert.equal(headers.get('access-control-allow-credentials'), null);
});

test('files have a limit of their own by the action file', async (t) => {
  const { service, put, get } = await startServedFiles(t);
  await put('a.txt', 'hello');
  const rules = [{ label: 'docs:file', audience: '', duration: 60, maxRequests: 2 }];
  const body = { rateLimits: { enabled: true, rules } };
  assert.equal((await service.request('/api/settings', { method: 'PATCH', token: true, body })).status, 200);
  const statuses = [];
  for (let at = 0; at < 3; at += 1) statuses.push((await get('a.txt')).status);
  assert.deepEqual(statuses, [200, 200, 429]);
});

test('files that an import has brought are sent', async (t) => {
  const service = await startService(t);
  await importInto(service, makeBlogDirectory(t));
  const path = `${service.url}/api/files/posts/post00000000001/cover_abc.png`;
  const { status, headers, bytes } = await getFile(path);
  assert.equal(status, 200);
  assert.ok(bytes.length > 0);
  assert.ok(headers.get('content-type'));
  assert.equal((await getFile(`${path}.attrs`)).status, 404);
});

test('files are kept in the folder that the operator names', async (t) => {
  const files = temporaryFolder(t);
  const { service, put, get, collectionId, id } = await startServedFiles(t, { flags: { files } });
  await put('a.txt', 'hello');
  assert.equal((await get('a.txt')).text, 'hello');
  const instanceId = service.app.data.directory.all()[0]?.id ?? '';
  assert.ok(existsSync(join(files, instanceId, 'storage', collectionId, id, 'a.txt')));
});
