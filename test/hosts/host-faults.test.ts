import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { listOf } from '../support/webhook-service.ts';
import { addInstance, posts, startHosts } from './host-stage.ts';

test('while one host does not turn, its requests are answered, and those of another instance and `live` as ever', async (t) => {
  const stage = await startHosts(t);
  const token = await addInstance(stage, 'shop');
  // Each is placed at its first request: they go to different threads.
  assert.equal((await stage.request('/api/collections', { token: true })).status, 200);
  assert.equal((await stage.request('/i/shop/api/collections', { token })).status, 200);
  const end = join(temporaryFolder(t), 'end');
  const taken = stage.fault(`block ${end}`, { method: 'POST', body: { title: 'a' } });
  const read = stage.request(posts);
  let answered = 0;
  const over = new AbortController();
  const others = (async () => {
    while (!over.signal.aborted) {
      for (const path of ['/i/shop/api/collections', '/api/health/live'])
        assert.equal((await stage.request(path, { token })).status, 200);
      answered += 1;
    }
  })();
  const [unknown, busy] = await Promise.all([taken, read]);
  over.abort();
  await others;
  writeFileSync(end, '');
  assert.equal(unknown.status, 500, unknown.text);
  assert.equal(busy.status, 503, busy.text);
  assert.equal(busy.headers.get('retry-after'), '1');
  assert.ok(answered > 1, `${answered} rounds`);
  const lines = stage.log.map(({ message }) => message);
  assert.ok(lines.includes('A host thread is blocked: its requests are rejected.'), lines.join('\n'));
  await eventually('it turns again', async () => (await stage.request(posts)).status === 200);
  // The write was taken: it was done once its host went on, and only once.
  await eventually('it is done', async () => (await stage.request(posts)).json.items.length === 1);
});

test('a request that was refused before its host took it is never run', async (t) => {
  const stage = await startHosts(t, { threads: 1 });
  const end = join(temporaryFolder(t), 'end');
  const blocking = stage.fault(`block ${end}`, { path: '/api/collections/posts' });
  const writes = Array.from({ length: 20 }, (_, index) =>
    stage.request(posts, { method: 'POST', body: { title: String(index) }, token: true }),
  );
  const answers = await Promise.all(writes);
  const counts = Map.groupBy(answers, ({ status }) => status);
  await blocking;
  writeFileSync(end, '');
  await eventually('it turns again', async () => (await stage.request(posts)).status === 200);
  const { items } = (await stage.request(`${posts}?perPage=100`)).json;
  const refused = counts.get(503)?.length ?? 0;
  assert.ok(refused > 0, JSON.stringify([...counts.keys()]));
  assert.equal(items.length, answers.length - refused);
});

test('a host that runs out of heap answers nobody else wrongly, and is started again', async (t) => {
  const stage = await startHosts(t, { heapMbMax: 96 });
  const token = await addInstance(stage, 'shop');
  assert.equal((await stage.request('/i/shop/api/collections', { token })).status, 200);
  const created = await stage.request(posts, { method: 'POST', body: { title: 'kept' } });
  assert.equal(created.status, 201, created.text);
  const filled = await stage.fault('fill');
  assert.equal(filled.status, 503, filled.text);
  assert.equal((await stage.request('/i/shop/api/collections', { token })).status, 200);
  // It may still end.
  const after = await eventually('it is started again', async () => {
    const list = await stage.request(posts);
    return list.status === 200 && list;
  });
  const [kept, ...others] = listOf(after.json.items);
  assert.equal(kept.title, 'kept');
  assert.equal(others.length, 0);
  assert.ok(stage.log.some(({ message }) => message === 'A host thread ended and is restarted.'));
});

test('a write whose thread ends after it has an unknown outcome, a read is refused, and nothing acknowledged is lost', async (t) => {
  const stage = await startHosts(t, { threads: 1 });
  for (let round = 0; round < 3; round += 1) {
    const written = await stage.fault('after exit', { method: 'POST', body: { title: String(round) } });
    assert.equal(written.status, 500, written.text);
    assert.equal((await stage.fault('exit')).status, 503);
  }
  const { items } = (await stage.request(posts)).json;
  assert.equal(items.length, 3);
});

test('an answer that cannot be a message is a 500, also to those that go with it', async (t) => {
  const stage = await startHosts(t, { threads: 1 });
  const failed = await stage.fault('after uncloneable');
  assert.equal(failed.status, 500, failed.text);
  assert.equal((await stage.request(posts)).status, 200);
});
