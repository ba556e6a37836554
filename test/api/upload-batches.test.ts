// Both engines: files are noted in the transaction of a batch.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { AppParts } from '../../src/app.ts';
import { FileStage, type FormPart, formType } from '../support/file-stage.ts';
import { RawConnection, rawRequest } from '../support/raw-http.ts';
import type { TestAnswer } from '../support/service.ts';

const at = '/api/collections/docs/records';

interface Item {
  readonly method: string;
  readonly url: string;
  readonly body?: object;
}

function batch(stage: FileStage, requests: readonly Item[], files: readonly FormPart[]): Promise<TestAnswer> {
  // Behind the files, as the SDK sends it.
  return stage.send('/batch', [...files, ['@jsonPayload', JSON.stringify({ requests })]]);
}

async function startBatches(t: TestContext, parts: AppParts = {}): Promise<FileStage> {
  const stage = await FileStage.start(t, parts);
  const body = { batch: { enabled: true } };
  const { status } = await stage.service.request('/api/settings', { method: 'PATCH', token: true, body });
  assert.equal(status, 200);
  return stage;
}

test('files of a batch go to the requests that their parts name, in either way of naming', async (t) => {
  const stage = await startBatches(t);
  const id = 'a'.repeat(15);
  const { status, json, text } = await batch(
    stage,
    [
      { method: 'POST', url: at, body: { title: 'first' } },
      { method: 'PUT', url: at, body: { id, papers: [] } },
      { method: 'PATCH', url: `${at}/${id}` },
      { method: 'PUT', url: at, body: { id, title: 'changed' } },
    ],
    [
      ['requests.0.photo', 'a', 'a.txt'],
      ['requests[1].papers', 'b', 'b.txt'],
      ['requests.1.papers', 'c', 'c.txt'],
      ['requests.2.papers+', 'd', 'd.txt'],
      ['requests[3].+papers', 'e', 'e.txt'],
      ['requests.3.papers-', 'nothing', 'f.txt'],
      ['requests.4.photo', 'of none', 'g.txt'],
      ['requests.99999.photo', 'of none', 'g.txt'],
      ['requests.0.', 'of none', 'g.txt'],
      ['photo', 'of none', 'g.txt'],
    ],
  );
  assert.equal(status, 400, 'four files for a field of three');
  assert.equal(json.data.requests[3].response.data.papers.code, 'validation_too_many_files', text);
  await stage.settled();
  const misplaced = await batch(
    stage,
    [{ method: 'POST', url: at }],
    [['requests.0.title', 'not a text', 'g.txt']],
  );
  const { title } = misplaced.json.data.requests[0].response.data;
  assert.equal(title.code, 'validation_unsupported_value_type', misplaced.text);
  const made = await batch(
    stage,
    [
      { method: 'POST', url: at, body: { title: 'first' } },
      { method: 'PUT', url: at, body: { id, papers: [] } },
      { method: 'PATCH', url: `${at}/${id}` },
    ],
    [
      ['requests.0.photo', 'a', 'a.txt'],
      ['requests[1].papers', 'b', 'b.txt'],
      ['requests.2.+papers', 'd', 'd.txt'],
    ],
  );
  assert.equal(made.status, 200, made.text);
  assert.equal(String(await stage.content(made.json[0].body.id, made.json[0].body.photo)), 'a');
  assert.equal(made.json[0].body.title, 'first');
  const papers: readonly string[] = made.json[2].body.papers;
  assert.deepEqual(await Promise.all(papers.map(async (name) => String(await stage.content(id, name)))), [
    'd',
    'b',
  ]);
  await stage.settled();
});

test('a batch is all or nothing for its files, too', async (t) => {
  const stage = await startBatches(t);
  const { json: kept } = await stage.create([['photo', 'kept', 'kept.txt']]);
  const refused = await batch(
    stage,
    [
      { method: 'POST', url: at },
      { method: 'PATCH', url: `${at}/${kept.id}` },
      { method: 'DELETE', url: `${at}/${kept.id}` },
      { method: 'POST', url: at, body: { papers: ['made_up.txt'] } },
    ],
    [
      ['requests.0.photo', 'a', 'a.txt'],
      ['requests.1.photo', 'b', 'b.txt'],
    ],
  );
  assert.equal(refused.status, 400);
  assert.ok('3' in refused.json.data.requests, refused.text);
  await stage.settled();
  assert.deepEqual(await stage.stored(), [kept.photo]);
  const large = await batch(
    stage,
    [
      { method: 'POST', url: at },
      { method: 'POST', url: at },
    ],
    [
      ['requests.0.photo', 'a', 'a.txt'],
      ['requests.1.photo', Buffer.alloc(1_001), 'b.bin'],
    ],
  );
  assert.equal(large.json.data.requests[1].response.data.photo.code, 'validation_file_size_limit');
  await stage.settled();
});

test('a batch that makes a record with a file and deletes it leaves no file', async (t) => {
  const stage = await startBatches(t);
  const id = 'b'.repeat(15);
  const { status, text } = await batch(
    stage,
    [
      { method: 'POST', url: at, body: { id } },
      { method: 'DELETE', url: `${at}/${id}` },
    ],
    [['requests.0.photo', 'a', 'a.txt']],
  );
  assert.equal(status, 200, text);
  await stage.settled();
  assert.deepEqual(await stage.stored(), []);
});

test('a file of a batch for a hidden field comes only from superusers', async (t) => {
  const stage = await startBatches(t);
  const fields = [
    { name: 'photo', type: 'file', hidden: true },
    { name: 'papers', type: 'file', maxSelect: 2 },
  ];
  await stage.collection('secrets', { fields });
  const url = '/api/collections/secrets/records';
  const made = await batch(
    stage,
    [{ method: 'POST', url }],
    [
      ['requests.0.photo', 'a', 'a.txt'],
      ['requests.0.papers', 'b', 'b.txt'],
    ],
  );
  assert.equal(made.status, 200, made.text);
  await stage.settled('secrets');
  assert.equal((await stage.stored()).length, 1);
});

test('a batch is refused before it is read where batches are off, and for more bytes than its instance allows', async (t) => {
  const stage = await startBatches(t);
  const settings = async (batch: object): Promise<void> => {
    const body = { batch };
    await stage.service.request('/api/settings', { method: 'PATCH', token: true, body });
  };
  const send = (bytes: number): Promise<TestAnswer> =>
    batch(stage, [{ method: 'POST', url: at }], [['requests.0.papers', Buffer.alloc(bytes), 'a.bin']]);
  await settings({ maxBodySize: 100_000 });
  assert.equal((await send(90_000)).status, 200);
  assert.equal((await send(100_000)).status, 413);
  await settings({ enabled: false });
  assert.equal((await send(10)).status, 403);
  const connection = RawConnection.open(t, stage.service.url);
  const headers = { 'Content-Type': formType, 'Content-Length': '100000', Expect: '100-continue' };
  connection.send(rawRequest('POST /api/batch', headers));
  const [answer] = await connection.waitForAnswers(1);
  assert.equal(answer?.status, 403);
  await stage.settled();
});

test('an upload under an idempotency key is done once, and its key is that of its bytes', async (t) => {
  let puts = 0;
  const stage = await startBatches(t, {
    wrapStore: (store) => ({
      put: (key, source) => {
        puts += 1;
        return store.put(key, source);
      },
      find: (key) => store.find(key),
      read: (key, range) => store.read(key, range),
      remove: (key) => store.remove(key),
      removeAll: (folder) => store.removeAll(folder),
      list: () => store.list(),
    }),
  });
  const headers = { 'idempotency-key': 'once' };
  const send = (content: string): Promise<TestAnswer> =>
    stage.create([['photo', content, 'a.txt']], { headers });
  const first = await send('same');
  assert.equal(first.status, 201);
  const again = await send('same');
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(again.json, first.json);
  assert.equal((await send('other')).status, 422);
  assert.equal(puts, 1, 'what is answered again is not stored again');
  await stage.settled();
  assert.equal((await stage.stored()).length, 1);
  const together = await Promise.all(
    Array.from({ length: 5 }, () =>
      stage.create([['photo', 'x', 'x.txt']], { headers: { 'idempotency-key': 'together' } }),
    ),
  );
  const ids = new Set(together.map(({ json }) => json.id));
  assert.equal(ids.size, 1);
  await stage.settled();
  assert.equal((await stage.stored()).length, 2);
});
