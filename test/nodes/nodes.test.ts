import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { App } from '../../src/app.ts';
import { eventually } from '../support/eventually.ts';
import { NodeGroup, posts, sequences, verify } from './node-group.ts';

const records = '/api/collections/posts/records';
const json = { 'content-type': 'application/json' };

test('shards are divided evenly when nodes come and go', async (t) => {
  const group = await NodeGroup.open(t);
  const first = await group.start();
  await group.divided(first, 1);
  const second = await group.start();
  await group.divided(second, 2);
  const third = await group.start();
  await group.divided(first, 3);
  await second.stop();
  await group.divided(first, 2);
  await first.stop();
  await group.divided(third, 1);
  assert.deepEqual(group.log, []);
});

test('what was made through one node is there on the other', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  for (const app of [a, b]) assert.equal((await group.ask(app, 'GET /api/health')).status, 200);
  // Both know the instance, and neither the collection.
  for (const app of [a, b]) assert.equal((await group.ask(app, `GET ${records}`)).status, 404);
  await group.get(a, 'POST /api/collections', posts);
  await eventually('it on B', async () => (await group.ask(b, `GET ${records}`)).status === 200);
  const { id } = await group.get(b, `POST ${records}`, { title: 'x' });
  await eventually('a list on B', async () => (await group.get(b, `GET ${records}`)).totalItems === 1);
  assert.equal((await group.get(a, `GET ${records}/${id}`)).title, 'x');
  await group.get(a, `PATCH ${records}/${id}`, { title: 'y' });
  assert.equal((await group.get(b, `GET ${records}/${id}`)).title, 'y');
  await group.get(b, `DELETE ${records}/${id}`);
  assert.equal((await group.ask(a, `GET ${records}/${id}`)).status, 404);
  assert.deepEqual(group.log, []);
});

test('a collection that one node has answered for takes writes through another at once', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  assert.equal((await group.ask(b, `GET ${records}`)).status, 404);
  await group.get(a, 'POST /api/collections', posts);
  await group.get(b, `POST ${records}`, { title: 'x' });
});

test('definitions that one node has answered for are shown, changed and deleted by another at once', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  assert.equal((await group.ask(b, `GET ${records}`)).status, 404);
  const before = (await group.get(b, 'GET /api/collections')).totalItems;
  await group.get(a, 'POST /api/collections', posts);
  assert.equal((await group.get(b, 'GET /api/collections')).totalItems, before + 1);
  await group.get(a, 'PATCH /api/collections/posts', { name: 'articles' });
  assert.equal((await group.get(b, 'GET /api/collections/articles')).name, 'articles');
  await group.get(b, 'PATCH /api/collections/articles', { name: 'notes' });
  await group.get(a, 'DELETE /api/collections/notes');
  assert.equal((await group.ask(b, 'GET /api/collections/notes')).status, 404);
});

test('a rule that one node has locked refuses writes through another at once', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  await group.get(a, 'POST /api/collections', posts);
  await eventually('it on B', async () => (await group.ask(b, `GET ${records}`)).status === 200);
  await group.get(a, 'PATCH /api/collections/posts', { createRule: null });
  const response = await fetch(`${b.url}${records}`, { method: 'POST', body: '{}', headers: json });
  assert.equal(response.status, 403);
});

test('a write sent to one node tells every endpoint whose creation another has answered', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  await group.get(a, 'POST /api/collections', posts);
  for (let round = 1; round <= 5; round += 1) {
    // B has the endpoints of the last round in its memory.
    const url = group.receiver.urlAt('127.0.0.1', `/${round}`);
    await group.get(a, 'POST /api/webhooks/endpoints', { url });
    await group.get(b, `POST ${records}`, { title: `${round}` });
  }
  await eventually('all told', () => group.receiver.requests.length >= 15);
  const paths = group.receiver.requests.map(({ path }) => path).toSorted();
  assert.equal(paths.join(''), '/1/1/1/1/1/2/2/2/2/3/3/3/4/4/5');
  assert.deepEqual(group.log, []);
});

test('a test of an endpoint is sent once and settled, through whichever node', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  await group.divided(a, 2);
  const { id } = await group.get(a, 'POST /api/webhooks/endpoints', { url: group.receiver.url });
  for (const app of [a, b]) {
    const { status } = await group.get(app, `POST /api/webhooks/endpoints/${id}/test`);
    assert.equal(status, 'delivered');
  }
  assert.equal(group.receiver.requests.length, 2);
});

test('writes through one node go on while another changes the collection', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  await group.signIn(a);
  await group.get(a, 'POST /api/collections', posts);
  await eventually('it on B', async () => (await group.ask(b, `GET ${records}`)).status === 200);
  const statuses = new Map<number, number>();
  const written = (): number => statuses.get(201) ?? 0;
  const over = new AbortController();
  const write = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const { status } = await group.ask(b, `POST ${records}`, { title: 'x', extra: 1 });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const writers = Promise.all(Array.from({ length: 4 }, write));
  const without = (await group.get(a, 'GET /api/collections/posts')).fields;
  for (let round = 0; round < 8; round += 1) {
    const extra = round % 2 === 0 ? [{ name: 'extra', type: 'number' }] : [];
    await group.get(a, 'PATCH /api/collections/posts', { fields: [...without, ...extra] });
    const before = written();
    await eventually('writes go on', () => written() >= before + 8 || statuses.size > 1);
  }
  over.abort();
  await writers;
  assert.deepEqual([...statuses.keys()], [201]);
  assert.equal((await group.get(a, `GET ${records}`)).totalItems, written());
  assert.deepEqual(group.log, []);
});

const slugs = ['red', 'green', 'blue', 'black', 'white', 'grey'];
const changesPerRecord = 3;

interface Load {
  /** Records that were written, changed and deleted. */
  written: number;
  isOver: boolean;
}

/** Writes records of all instances through the nodes in turn until it is over. */
async function keepWriting(group: NodeGroup, nodes: readonly App[], load: Load): Promise<void> {
  const client = async (slug: string): Promise<void> => {
    for (let turn = 0; !load.isOver; turn += 1) {
      const node = (by: number): App => nodes[(turn + by) % nodes.length] ?? assert.fail('no node');
      const path = `/i/${slug}${records}`;
      const { id } = await group.get(node(0), `POST ${path}`, { title: 'a' });
      await group.get(node(1), `PATCH ${path}/${id}`, { title: 'b' });
      await group.get(node(2), `DELETE ${path}/${id}`);
      load.written += 1;
    }
  };
  await Promise.all(slugs.map(client));
}

test('each webhook arrives once, and in whole sequences, while nodes join, share the work and leave', async (t) => {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(), await group.start()];
  group.receiver.mode = { kind: 'slow', delayMs: 15 };
  const secrets = new Map<string, string>();
  for (const slug of slugs) secrets.set(`/${slug}`, await group.makeInstance(a, slug));
  await eventually('B knows all instances', () => slugs.every((slug) => b.data.directory.findBySlug(slug)));
  await group.divided(a, 2);
  const load: Load = { written: 0, isOver: false };
  const loading = keepWriting(group, [a, b], load);
  const more = (count: number): Promise<unknown> => {
    const wanted = load.written + count;
    const isWritten = eventually(`${count} records more`, () => load.written >= wanted);
    return Promise.race([isWritten, loading]);
  };
  await more(24);
  const c = await group.start();
  await group.divided(a, 3);
  await more(12);
  await c.stop();
  await group.divided(a, 2);
  await more(12);
  load.isOver = true;
  await loading;
  const { written } = load;
  const { requests } = group.receiver;
  await eventually('all told', () => requests.length >= written * changesPerRecord);
  await b.stop();
  await a.stop();
  for (const request of requests) verify(request, secrets.get(request.path) ?? '');
  const found = sequences(requests);
  assert.equal(found.size, written);
  const wrong = [...found].filter(([, numbers]) => numbers.join() !== '1,2,3');
  assert.deepEqual(wrong, [], `of ${written} records`);
  assert.deepEqual(group.log, []);
  t.diagnostic(`${written} records, ${requests.length} webhooks`);
});
