// Both engines: an index of files, or a query over tables that instances share.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noteRemovals } from '../../src/files/file-removals.ts';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from '../support/eventually.ts';
import { addPost, makeInstance, openSlugs } from '../support/instance-fleet.ts';
import { Receiver } from '../support/receiver.ts';
import { startService } from '../support/service.ts';

const slugs = Array.from({ length: 6 }, (_, number) => `one${number}`);
const due = ['one1', 'one4'];

test('a start opens the instances in which webhooks are due, and no others', async (t) => {
  const receiver = await Receiver.open({ mode: { kind: 'status', status: 500 } });
  t.after(() => receiver.close());
  const first = await startService(t);
  for (const slug of slugs) {
    const schedule = due.includes(slug) ? [5] : [];
    await makeInstance(first, slug, { url: `${receiver.url}${slug}`, schedule });
    await addPost(first, slug);
  }
  for (const slug of slugs)
    await eventually(`${slug} was tried`, () =>
      first.withInstance(slug, async ({ database }) => {
        const { names } = database;
        const outcome = sql`SELECT 1 FROM ${names.table('$outcome')} WHERE ${names.instance.condition}`;
        return (await database.tuples(outcome)).length === 1;
      }),
    );
  const tried = receiver.requests.length;
  await first.stop();
  receiver.mode = { kind: 'ok' };
  const second = await startService(t, { data: first.data });
  const again = (): readonly string[] =>
    receiver.requests.slice(tried).map(({ path }) => path.slice('/hook'.length));
  await eventually('what was due is sent', () => again().length === due.length);
  assert.deepEqual(again().toSorted(), due);
  assert.deepEqual(openSlugs(second.app.data), ['default', ...due]);
});

test('files that are due in a closed instance are removed after a start', async (t) => {
  const first = await startService(t);
  for (const slug of slugs) await makeInstance(first, slug);
  const removed: string[] = [];
  await first.withInstance('one1', async ({ database }) => {
    await database.write((tx) => noteRemovals(tx, ['c/r/a'], 1));
  });
  await first.stop();
  const second = await startService(t, {
    data: first.data,
    parts: {
      wrapStore: (store) => ({
        put: (key, source) => store.put(key, source),
        find: (key) => store.find(key),
        read: (key, range) => store.read(key, range),
        removeAll: (prefix) => store.removeAll(prefix),
        list: () => store.list(),
        remove: async (key) => void removed.push(key),
      }),
    },
  });
  await second.app.data.fileSweeper.sweep();
  assert.deepEqual(removed, ['c/r/a']);
  assert.deepEqual(openSlugs(second.app.data), ['default', 'one1']);
});
