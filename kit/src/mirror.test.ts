import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { MemoryMirror, mirror, type MirrorWebhook, SqliteMirror } from './mirror.ts';

/** A webhook of a record: its revision, the second, and its title; none for a deletion. */
function webhook(
  sequence: number,
  second: number,
  more: Partial<MirrorWebhook> & { title?: string },
): MirrorWebhook {
  const { title, ...others } = more;
  const timestamp = new Date(Date.UTC(2026, 10, 20, 9, 0, second)).toISOString();
  const event = title === undefined ? 'record.delete' : sequence === 1 ? 'record.create' : 'record.update';
  const data = { id: 'r1', ...(title !== undefined && { title }) };
  const base = { instance_id: 'i', collection: 'posts', timestamp, event, data };
  return { sequence, event: base, ...others };
}

function enter(sequence: number, second: number, title: string): MirrorWebhook {
  const { event, ...rest } = webhook(sequence, second, { title, transition: 'enter' });
  return { ...rest, event: { ...event, event: 'record.create' } };
}

const leave = (sequence: number, second: number): MirrorWebhook =>
  webhook(sequence, second, { transition: 'leave' });

async function copyOf(webhooks: readonly MirrorWebhook[]): Promise<readonly unknown[]> {
  const store = new MemoryMirror();
  const apply = mirror({ store });
  for (const one of webhooks) await apply(one);
  return store.records('posts').map(({ title }) => title);
}

/** All orders of up to six webhooks. */
function* ordersOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  if (items.length <= 1) yield items;
  for (const [index, item] of items.entries())
    for (const rest of ordersOf(items.toSpliced(index, 1))) yield [item, ...rest];
}

test('the copy is the same in whatever order the webhooks of a record come', async () => {
  const stories: readonly (readonly [title: string | undefined, readonly MirrorWebhook[]])[] = [
    ['b', [webhook(1, 1, { title: 'a' }), webhook(2, 2, { title: 'b' })]],
    [undefined, [enter(3, 1, 'a'), webhook(4, 2, { title: 'b' }), leave(5, 3)]],
    ['c', [enter(3, 1, 'a'), leave(4, 2), enter(6, 2, 'c')]],
    // Rules that change leave the record as it is.
    ['a', [enter(3, 1, 'a'), leave(3, 2), enter(3, 3, 'a')]],
    [undefined, [enter(3, 1, 'a'), leave(3, 2), enter(3, 3, 'a'), leave(3, 4)]],
    [undefined, [enter(3, 1, 'a'), webhook(4, 2, {})]],
    // The node that has reconciled had a clock that was ahead.
    ['b', [leave(3, 9), enter(4, 8, 'b')]],
  ];
  for (const [title, story] of stories)
    for (const order of ordersOf([...story, story[0] ?? leave(1, 1)]))
      assert.deepEqual(await copyOf(order), title === undefined ? [] : [title], JSON.stringify(order));
});

test('an id that is used again is another record', async () => {
  const story = [
    enter(3, 1, 'a'),
    leave(4, 2),
    webhook(1, 5, { title: 'new' }),
    webhook(2, 6, { title: 'newer' }),
  ];
  for (const late of ordersOf(story)) assert.deepEqual(await copyOf([...story, ...late]), ['newer']);
});

test('tests and events about no record leave the copy as it is', async () => {
  const apply = mirror({ store: new MemoryMirror() });
  assert.equal(await apply(webhook(1, 1, { title: 'a', isTest: true })), 'ignored');
  const { event } = webhook(1, 1, { title: 'a' });
  assert.equal(await apply({ sequence: 0, event: { ...event, event: 'ping', data: {} } }), 'ignored');
});

test('a record that is too large for a webhook is fetched, or refused', async () => {
  const store = new MemoryMirror();
  const large = webhook(1, 1, { title: 'cut', isTruncated: true });
  await assert.rejects(mirror({ store })(large), /give mirror\(\) a fetchRecord/);
  const apply = mirror({ store, fetchRecord: ({ id }) => Promise.resolve({ id, title: 'whole' }) });
  assert.equal(await apply(large), 'applied');
  assert.deepEqual(store.records('posts'), [{ id: 'r1', title: 'whole' }]);
});

test('a tombstone is kept until it is forgotten', async () => {
  const store = new MemoryMirror();
  const apply = mirror({ store });
  await apply(webhook(2, 9, {}));
  store.forget(new Date(Date.UTC(2026, 10, 20, 9, 0, 9)));
  assert.equal(await apply(webhook(1, 1, { title: 'old' })), 'older');
  store.forget(new Date(Date.UTC(2026, 10, 20, 9, 0, 10)));
  assert.equal(await apply(webhook(1, 1, { title: 'old' })), 'applied');
});

test('a copy in SQLite outlives the process', async () => {
  const database = new DatabaseSync(':memory:');
  await mirror({ store: new SqliteMirror(database) })(webhook(2, 2, { title: 'b' }));
  const apply = mirror({ store: new SqliteMirror(database) });
  assert.equal(await apply(webhook(1, 1, { title: 'a' })), 'older');
  const titles = (): unknown =>
    database
      .prepare("SELECT data ->> 'title' AS title FROM chancery_mirror")
      .all()
      .map(({ title }) => title);
  assert.deepEqual(titles(), ['b']);
  assert.equal(await apply(leave(2, 3)), 'applied');
  assert.deepEqual(titles(), [null]);
  assert.equal(await apply(webhook(1, 1, { title: 'a' })), 'older');
  database.close();
});
