// Both engines: files are noted in the transaction of their record.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawConnection, rawRequest } from '../support/raw-http.ts';
import type { TestAnswer } from '../support/service.ts';
import type { BlobStore } from '../../src/files/blob-store.ts';
import { FileStage, formOf, type FormPart, formType } from '../support/file-stage.ts';

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const photo: FormPart = ['photo', png, 'Me and You.png'];

function paper(content: string, name = `${content}.txt`): FormPart {
  return ['papers', content, name];
}

test('a file comes in with a new record, which names it', async (t) => {
  const stage = await FileStage.start(t);
  const { status, json, text } = await stage.create([['title', 'a'], photo, paper('one'), paper('two')]);
  assert.equal(status, 201, text);
  assert.match(json.photo, /^me_and_you_[a-z0-9]{10}\.png$/);
  assert.equal(json.papers.length, 2);
  assert.match(json.papers[0], /^one_[a-z0-9]{10}\.txt$/);
  assert.deepEqual(await stage.content(json.id, json.photo), png);
  assert.equal(String(await stage.content(json.id, json.papers[1])), 'two');
  await stage.settled();
});

test('an update adds, replaces and removes files, by all the names that a field has in a body', async (t) => {
  const stage = await FileStage.start(t);
  const { json: made } = await stage.create([photo, paper('one')]);
  const [one] = made.papers;
  const change = async (
    parts: readonly FormPart[],
    papers: readonly RegExp[],
  ): Promise<TestAnswer['json']> => {
    const { status, json, text } = await stage.update(made.id, parts);
    assert.equal(status, 200, text);
    assert.equal(json.papers.length, papers.length, text);
    for (const [index, name] of papers.entries()) assert.match(json.papers[index], name);
    await stage.settled();
    return json;
  };
  await change([['papers+', 'two', 'two.txt']], [/^one/, /^two/]);
  const three = await change([['+papers', 'zero', 'zero.txt']], [/^zero/, /^one/, /^two/]);
  await change([['papers-', three.papers[2]]], [/^zero/, /^one/]);
  await change([['papers', one], paper('six')], [/^one/, /^six/]);
  await change([paper('seven')], [/^seven/]);
  const replaced = await change([['photo', png, 'other.png']], [/^seven/]);
  assert.match(replaced.photo, /^other_/);
  const emptied = await change(
    [
      ['photo', ''],
      ['papers', ''],
    ],
    [],
  );
  assert.equal(emptied.photo, '');
  assert.deepEqual(await stage.stored(), []);
});

test('two files of one name, an empty file and one without an extension are kept apart, each with its bytes', async (t) => {
  const stage = await FileStage.start(t);
  const { json } = await stage.create([
    paper('first', 'a.txt'),
    paper('second', 'a.txt'),
    paper('', 'empty'),
  ]);
  const [first, second, empty] = json.papers;
  assert.notEqual(first, second);
  assert.equal(String(await stage.content(json.id, first)), 'first');
  assert.equal(String(await stage.content(json.id, second)), 'second');
  assert.equal((await stage.content(json.id, empty)).length, 0);
  await stage.settled();
});

/** Sends a file as a client would that writes its name in this way. */
async function sendNamed(stage: FileStage, named: string): Promise<TestAnswer> {
  const form = formOf([['papers', 'x', 'a.txt']])
    .toString('latin1')
    .replace('filename="a.txt"', named);
  const headers = { 'content-type': formType };
  const body = new Uint8Array(Buffer.from(form, 'latin1'));
  const answer = await fetch(`${stage.service.url}/api/collections/docs/records`, {
    method: 'POST',
    body,
    headers,
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) };
}

test('of the two names that clients in .NET give a file, the one in RFC 8187 counts', async (t) => {
  const stage = await FileStage.start(t);
  const named: readonly (readonly [string, RegExp])[] = [
    [`filename=bee.txt; filename*=utf-8''bee.txt`, /^bee_/],
    [`filename="wrong.txt"; filename*=utf-8''my%20letter.txt`, /^my_letter_/],
    [`filename*=UTF-8'en'right.txt; filename=wrong.txt`, /^right_/],
    [`filename="=?utf-8?B?bmHDr3ZlLnR4dA==?="; filename*=utf-8''na%C3%AFve.txt`, /^na.*ve_/],
    [`filename*=ISO-8859-1''caf%E9%20bar.txt`, /bar_/],
    [`filename=""; filename*=UTF-8''right.txt`, /^right_/],
    [`filename="x.txt"; filename*="utf-8''quoted.txt"`, /^quoted_/],
    [`filename*=utf-8''..%2F..%2Fetc%2Fpasswd`, /^passwd_/],
  ];
  for (const [header, name] of named) {
    const { status, json, text } = await sendNamed(stage, header);
    assert.equal(status, 201, `${header} ${text}`);
    assert.match(json.papers[0], name, header);
  }
  const malformed = [
    'a.txt', "utf-8'a.txt", "''a.txt", "utf-16''a.txt", "utf-8''", "utf-8''%", "utf-8''%4", "utf-8''%zz.txt", "utf-8''%C3.txt",
    "utf-8''%ED%A0%80.txt", "utf-8''a%00.txt", '"utf-8\'\'a b.txt"', '"utf-8\'\'\xc3\xa9.txt"', `utf-8''${'%C3'.repeat(1_000)}`,
  ]; // prettier-ignore
  for (const value of malformed) {
    const { status, json } = await sendNamed(stage, `filename="a.txt"; filename*=${value}`);
    assert.equal(status, 400, value);
    assert.match(json.message, /malformed "filename\*"/, value);
  }
  const twice = await sendNamed(stage, `filename*=utf-8''a.txt; filename*=utf-8''b.txt`);
  assert.equal(twice.status, 400);
});

test('of several files for a field of one the last is kept, as of several names', async (t) => {
  const stage = await FileStage.start(t);
  const { json } = await stage.create([
    ['photo', png, 'first.png'],
    ['photo', png, 'last.png'],
  ]);
  assert.match(json.photo, /^last_/);
  await stage.settled();
});

test('F-10 a file may be as large as its field says and no larger, and a refusal names the field', async (t) => {
  const stage = await FileStage.start(t);
  assert.equal((await stage.create([['photo', Buffer.alloc(1_000), 'a.bin']])).status, 201);
  const large = await stage.create([['photo', Buffer.alloc(1_001), 'a.bin']]);
  assert.deepEqual(large.json, {
    status: 400,
    message: 'Failed to create record.',
    data: {
      photo: {
        code: 'validation_file_size_limit',
        message: 'Failed to upload a.bin: the maximum allowed file size is 1000 bytes.',
        params: { file: 'a.bin', maxSize: 1_000 },
      },
    },
  });
  const many = await stage.create([paper('1'), paper('2'), paper('3'), paper('4')]);
  assert.equal(many.json.data.papers.code, 'validation_too_many_files');
  const unknown = await stage.create([['papers', 'made_up.txt'], paper('1')]);
  assert.equal(unknown.json.data.papers.code, 'validation_invalid_file');
  await stage.settled();
});

test('F-06 the kind of a file is found in its bytes, whatever its client says', async (t) => {
  const stage = await FileStage.start(t);
  const field = { name: 'photo', type: 'file', mimeTypes: ['image/png', 'image/jpeg'], required: true };
  const papers = { name: 'papers', type: 'file', maxSelect: 3 };
  await stage.collection('pictures', { fields: [field, papers] });
  const send = (parts: readonly FormPart[]): Promise<TestAnswer> =>
    stage.send('/collections/pictures/records', parts);
  const page = await send([['photo', '<html><script>alert(1)</script>', 'a.png']]);
  assert.deepEqual(page.json.data.photo, {
    code: 'validation_invalid_mime_type',
    message: 'The type of a.png must be one of: image/png, image/jpeg.',
    params: { file: 'a.png', mimeTypes: ['image/png', 'image/jpeg'] },
  });
  const without = await send([paper('one')]);
  assert.equal(without.json.data.photo.code, 'validation_required');
  const made = await send([['photo', png, 'picture']]);
  assert.match(made.json.photo, /^picture_[a-z0-9]{10}\.png$/);
  await stage.settled('pictures');
});

test('rules know the stored names, and of a refused write no file is left', async (t) => {
  const stage = await FileStage.start(t);
  await stage.service.request('/api/collections/docs', {
    method: 'PATCH',
    token: true,
    body: {
      createRule: '@request.body.photo ~ "wanted%" && @request.body.papers:length < 2',
      updateRule: '@request.body.photo ~ "wanted%"',
    },
  });
  const wanted: FormPart = ['photo', png, 'wanted.png'];
  const { status, json, text } = await stage.create([wanted, paper('one')]);
  assert.equal(status, 201, text);
  assert.equal((await stage.create([photo])).status, 400);
  assert.equal((await stage.create([wanted, paper('one'), paper('two')])).status, 400);
  assert.equal((await stage.update(json.id, [photo])).status, 404);
  assert.equal((await stage.update('a'.repeat(15), [wanted])).status, 404);
  assert.equal((await stage.update('..', [wanted])).status, 404);
  await stage.settled();
});

test('a file for a hidden field comes only from superusers', async (t) => {
  const stage = await FileStage.start(t);
  const fields = [
    { name: 'photo', type: 'file', hidden: true },
    { name: 'papers', type: 'file', maxSelect: 2 },
  ];
  await stage.collection('secrets', { fields });
  const send = (token?: true): Promise<TestAnswer> =>
    stage.send('/collections/secrets/records', [photo, paper('one')], token ? { token } : {});
  const { json } = await send();
  assert.equal(json.photo, undefined);
  assert.equal(json.papers.length, 1);
  assert.equal((await stage.stored()).length, 1);
  assert.match((await send(true)).json.photo, /^me_and_you/);
  await stage.settled('secrets');
});

test('a collection that takes the name of another while files are put into the store does not get them', async (t) => {
  let isFirst = true;
  const rename = Promise.withResolvers<() => Promise<unknown>>();
  const wrapStore = (store: BlobStore): BlobStore => ({
    put: async (key, source) => {
      await store.put(key, source);
      if (isFirst) await (await rename.promise)();
      isFirst = false;
    },
    find: (key) => store.find(key),
    read: (key, range) => store.read(key, range),
    remove: (key) => store.remove(key),
    removeAll: (folder) => store.removeAll(folder),
    list: () => store.list(),
  });
  const stage = await FileStage.start(t, { wrapStore });
  rename.resolve(async () => {
    const body = { name: 'old' };
    await stage.service.request('/api/collections/docs', { method: 'PATCH', token: true, body });
    await stage.collection('docs', { id: 'another' });
  });
  const { status } = await stage.create([photo]);
  assert.equal(status, 503);
  assert.equal((await stage.create([photo])).status, 201);
  const named = [...(await stage.named()), ...(await stage.named('old'))];
  assert.equal(named.length, 1);
});

test('who may not write at all is refused before the form is read', async (t) => {
  const stage = await FileStage.start(t);
  await stage.collection('locked', { createRule: null, updateRule: null });
  for (const [line, status] of [
    ['POST /api/collections/locked/records', 403],
    ['PATCH /api/collections/locked/records/aaaaaaaaaaaaaaa', 403],
    ['POST /api/collections/nowhere/records', 404],
  ] as const) {
    const connection = RawConnection.open(t, stage.service.url);
    const headers = { 'Content-Type': formType, 'Content-Length': '100000', Expect: '100-continue' };
    connection.send(rawRequest(line, headers));
    const [answer] = await connection.waitForAnswers(1);
    assert.equal(answer?.status, status);
  }
});
