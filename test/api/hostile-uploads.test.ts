import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../src/base/errors.ts';
import type { BlobStore } from '../../src/files/blob-store.ts';
import { eventually } from '../support/eventually.ts';
import { FileStage, formOf, type FormPart, formType } from '../support/file-stage.ts';
import { RawConnection, rawRequest, sendRaw } from '../support/raw-http.ts';
import { inSample } from '../support/sample.ts';

const at = '/api/collections/docs/records';
const megabyte = 1024 * 1024;

function rawForm(body: Buffer, headers: Readonly<Record<string, string>> = {}): Buffer {
  const head = rawRequest(`POST ${at}`, {
    'Content-Type': formType,
    'Content-Length': String(body.length),
    ...headers,
  });
  return Buffer.concat([Buffer.from(head), body]);
}

async function assertNothing(stage: FileStage): Promise<void> {
  await stage.settled();
  assert.deepEqual(await stage.stored(), []);
  assert.equal((await stage.service.request(at)).json.totalItems, 0);
}

test('H-70 a form with files that is none, or too much of one, gets a 400 and leaves nothing', async (t) => {
  const stage = await FileStage.start(t);
  const good = formOf([['papers', 'x'.repeat(100_000), 'a.txt']]);
  const text = good.toString('latin1');
  const end = text.lastIndexOf('\r\n--');
  const bad: readonly (readonly [Buffer | string, string?])[] = [
    [good.subarray(0, 60)],
    [good.subarray(0, 50_000)],
    [text.slice(0, end)],
    [text.slice(0, -4)],
    [text.replaceAll('\r\n', '\n')],
    [good, 'multipart/form-data'],
    [good, 'multipart/form-data; boundary=other'],
    [good, `${formType}; boundary=other`],
    [text.replace('filename="a.txt"', "filename*=UTF-8''%C3.txt")],
    [text.replace('filename="a.txt"', 'filename="a.txt"; filename="b.txt"')],
    [text.replace('filename="a.txt"', 'filename="\xff"')],
    [text.replace('\r\n\r\n', '\r\nContent-Transfer-Encoding: base64\r\n\r\n')],
    [text.replace('\r\n\r\n', `\r\nX: ${'a'.repeat(10_000)}\r\n\r\n`)],
    [formOf(Array.from({ length: 10_000 }, (_, n): FormPart => ['papers', 'x', `${n}.txt`]))],
    [
      formOf([
        ['photo', 'a', 'a.txt'],
        ['@jsonPayload', '[]'],
      ]),
    ],
  ];
  for (const [body, type = formType] of bad) {
    const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
    const { status, body: told } = await sendRaw(
      t,
      stage.service.url,
      rawForm(bytes, { 'Content-Type': type }),
    );
    assert.equal(status, 400, `${type} ${String(body).slice(0, 200)} ${told}`);
  }
  const utf16 = rawForm(good, { 'Content-Type': `${formType}; charset=utf-16` });
  assert.equal((await sendRaw(t, stage.service.url, utf16)).status, 415);
  await assertNothing(stage);
});

test('F-11 hundreds of files for a field of three are refused, and none stays', async (t) => {
  const stage = await FileStage.start(t);
  const parts = Array.from({ length: 999 }, (_, n): FormPart => ['papers', String(n), `${n}.txt`]);
  const { json } = await stage.create(parts);
  assert.equal(json.data.papers.code, 'validation_too_many_files');
  await assertNothing(stage);
});

test('F-01 whatever a client calls a file, its stored name is harmless and its bytes are there', async (t) => {
  const stage = await FileStage.start(t);
  const names = [
    '../../../../etc/passwd',
    '..\\\\..\\\\win.ini',
    '/etc/passwd',
    'C:\\\\x',
    '.',
    '..',
    '.htaccess',
    'CON',
    'x.',
    'x ',
    'x::$DATA',
    '%2e%2e%2f',
    'a\\"b; filename=c.exe',
    '😀🎉𝒳.png',
    'exe.\u202egpj',
    'a\0b.png',
    `${'n'.repeat(300)}.txt`,
    `${'文'.repeat(300)}.txt`,
  ];
  for (const name of names) {
    const { status, json, text } = await stage.create([['photo', name, name]]);
    assert.equal(status, 201, `${JSON.stringify(name)} ${text}`);
    assert.match(json.photo, /^[a-z0-9_]+_[a-z0-9]{10}(?:\.[a-z0-9]+){0,2}$/, name);
    assert.equal(String(await stage.content(json.id, json.photo)), name);
  }
  await stage.settled();
});

test('a body that is larger than its collection can take gets a 413 at once, announced or not', async (t) => {
  const stage = await FileStage.start(t);
  // 32 MiB, and a little more for the fields of files.
  const bytes = 34 * megabyte;
  const announced = RawConnection.open(t, stage.service.url, true);
  announced.send(rawRequest(`POST ${at}`, { 'Content-Type': formType, 'Content-Length': String(bytes) }));
  const [refused] = await announced.waitForAnswers(1);
  assert.deepEqual([refused?.status, refused?.headers.get('connection')], [413, 'close']);
  const chunked = RawConnection.open(t, stage.service.url);
  const start = formOf([['papers', '', 'a.bin']])
    .toString('latin1')
    .split('\r\n\r\n')[0];
  chunked.send(rawRequest(`POST ${at}`, { 'Content-Type': formType, 'Transfer-Encoding': 'chunked' }));
  const chunk = (content: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`${content.length.toString(16)}\r\n`), content, Buffer.from('\r\n')]);
  chunked.send(chunk(Buffer.from(`${start}\r\n\r\n`)));
  for (let sent = 0; sent < bytes; sent += megabyte) chunked.send(chunk(Buffer.alloc(megabyte)));
  const [late] = await chunked.waitForAnswers(1);
  assert.equal(late?.status, 413);
  await assertNothing(stage);
  // Otherwise the service would wait for the rest of their bodies when it stops.
  for (const { socket } of [announced, chunked]) socket.destroy();
});

test('whoever is refused before the form is read still gets the answer, and the connection goes on', async (t) => {
  const stage = await FileStage.start(t);
  await stage.collection('locked', { createRule: null });
  const form = formOf([['papers', Buffer.alloc(20 * megabyte), 'a.bin']]);
  const connection = RawConnection.open(t, stage.service.url);
  const headers = { 'Content-Type': formType, 'Content-Length': String(form.length) };
  for (let count = 1; count <= 2; count += 1) {
    connection.send(rawRequest('POST /api/collections/locked/records', headers));
    connection.send(form);
    const answers = await connection.waitForAnswers(count);
    assert.equal(answers[count - 1]?.status, 403);
  }
  connection.send(rawForm(formOf([['photo', 'a', 'a.txt']])));
  const answers = await connection.waitForAnswers(3);
  assert.equal(answers[2]?.status, 201);
  await stage.settled();
});

test('fields beside files may hold as much as in any other body and no more', async (t) => {
  const stage = await FileStage.start(t);
  const fields = [{ name: 'papers', type: 'file', maxSize: 100 * megabyte }];
  await stage.collection('large', { fields });
  const parts: FormPart[] = [['papers', 'a', 'a.txt']];
  for (let count = 0; count < 17; count += 1) parts.push([`x${count}`, 'a'.repeat(2 * megabyte)]);
  const { status } = await stage.send('/collections/large/records', parts);
  assert.equal(status, 413);
  await stage.settled('docs');
});

test('a client that stops in the middle of a file leaves nothing behind', async (t) => {
  const stage = await FileStage.start(t);
  const form = rawForm(formOf([['papers', Buffer.alloc(190_000), 'a.bin']]));
  for (const how of ['end', 'destroy'] as const) {
    const connection = RawConnection.open(t, stage.service.url);
    connection.send(form.subarray(0, 150_000));
    await eventually('it has begun', async () => (await stage.uploading()).length > 0);
    connection.socket[how]();
    await assertNothing(stage);
  }
  assert.equal((await stage.create([['photo', 'a', 'a.txt']])).status, 201);
});

test('a file that comes slowly, piece by piece, is as good as any', async (t) => {
  const stage = await FileStage.start(t);
  const form = rawForm(
    formOf([
      ['photo', 'slow and steady', 'a.txt'],
      ['title', 'slow'],
    ]),
  );
  const connection = RawConnection.open(t, stage.service.url);
  connection.socket.setNoDelay(true);
  for (let from = 0; from < form.length; from += 7) {
    connection.send(form.subarray(from, from + 7));
    await delay(1);
  }
  const [answer] = await connection.waitForAnswers(1);
  assert.equal(answer?.status, 201);
  const [name = ''] = await stage.named();
  // What the API answers with.
  const { id } = JSON.parse(answer?.body ?? '') as { readonly id: string };
  assert.equal(String(await stage.content(id, name)), 'slow and steady');
  await stage.settled();
});

test('F-11 hundreds of small uploads at once are all taken, or told to come again', async (t) => {
  const stage = await FileStage.start(t);
  const statuses = await Promise.all(
    Array.from({ length: inSample(300, 1_000) }, async (_, n) => {
      const { status } = await stage.create([['photo', `content ${n}`, `${n}.txt`]]);
      return status;
    }),
  );
  const taken = statuses.filter((status) => status === 201).length;
  assert.deepEqual(
    statuses.filter((status) => status !== 201 && status !== 503),
    [],
  );
  assert.ok(taken > 0);
  await stage.settled();
  assert.equal((await stage.stored()).length, taken);
});

test('memory stays flat while a large file comes in', async (t) => {
  const stage = await FileStage.start(t);
  const fields = [{ name: 'papers', type: 'file', maxSize: 400 * megabyte }];
  await stage.collection('large', { fields });
  const start = formOf([['papers', '', 'a.bin']]);
  const head = start.subarray(0, start.lastIndexOf('\r\n--'));
  const tail = start.subarray(head.length);
  const total = 256 * megabyte;
  const before = process.memoryUsage().arrayBuffers;
  let peak = 0;
  const piece = Buffer.alloc(megabyte, 'x');
  async function* body(): AsyncIterable<Uint8Array> {
    yield head;
    for (let sent = 0; sent < total; sent += piece.length) {
      yield piece;
      peak = Math.max(peak, process.memoryUsage().arrayBuffers - before);
    }
    yield tail;
  }
  const answer = await fetch(`${stage.service.url}/api/collections/large/records`, {
    method: 'POST',
    headers: { 'content-type': formType },
    body: ReadableStream.from(body()),
    duplex: 'half',
  });
  assert.equal(answer.status, 201, await answer.text());
  assert.ok(peak < 128 * megabyte, `${Math.round(peak / megabyte)} MiB were held`);
  t.diagnostic(`${Math.round(peak / megabyte)} MiB at most`);
});

function failing(store: BlobStore, put: BlobStore['put']): BlobStore {
  return {
    put,
    find: (key) => store.find(key),
    read: (key, range) => store.read(key, range),
    remove: (key) => store.remove(key),
    removeAll: (folder) => store.removeAll(folder),
    list: () => store.list(),
  };
}

test('a store that is full refuses the record with a 507, and keeps none of its files', async (t) => {
  const wrapStore = (store: BlobStore): BlobStore => {
    let count = 0;
    return failing(store, async (key, source) => {
      count += 1;
      if (count === 2) throw new AppError('storage_full', 'The storage is full.');
      await store.put(key, source);
    });
  };
  const stage = await FileStage.start(t, { wrapStore });
  const parts: readonly FormPart[] = [
    ['papers', 'a', 'a.txt'],
    ['papers', 'b', 'b.txt'],
    ['papers', 'c', 'c.txt'],
  ];
  const { status, json } = await stage.create(parts);
  assert.deepEqual([status, json.message], [507, 'The storage is full.']);
  await assertNothing(stage);
  assert.equal((await stage.create(parts)).status, 201);
  await stage.settled();
});
