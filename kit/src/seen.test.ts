import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { handleOnce, MemorySeen } from './seen.ts';

describe('a webhook that comes again', () => {
  test('is not handled again once its work has ended', async () => {
    const store = new MemorySeen();
    const done: string[] = [];
    const handle = () => handleOnce(store, 'evt1', () => done.push('work'));
    assert.deepEqual([await handle(), await handle(), await handle()], ['new', 'handled', 'handled']);
    assert.deepEqual(done, ['work']);
  });

  test('is handled when the work for it has failed before', async () => {
    const store = new MemorySeen();
    const fail = () => Promise.reject(new Error('the database is away'));
    await assert.rejects(handleOnce(store, 'evt1', fail), /the database is away/);
    assert.equal(await handleOnce(store, 'evt1', () => undefined), 'new');
  });

  test('is told apart while the work for it goes on, and is not handled beside it', async () => {
    const store = new MemorySeen();
    const gate = Promise.withResolvers<void>();
    const first = handleOnce(store, 'evt1', () => gate.promise);
    assert.equal(await handleOnce(store, 'evt1', assert.fail), 'in progress');
    gate.resolve();
    assert.equal(await first, 'new');
    assert.equal(await handleOnce(store, 'evt1', assert.fail), 'handled');
  });
});

test('the memory is bounded: the oldest are forgotten first, and none whose work goes on', () => {
  const store = new MemorySeen({ idsMax: 2 });
  assert.equal(store.seen('slow'), 'new');
  for (const id of ['a', 'b', 'c']) {
    assert.equal(store.seen(id), 'new');
    store.settle(id);
  }
  assert.deepEqual(
    ['slow', 'b', 'c', 'a'].map((id) => store.seen(id)),
    ['in progress', 'handled', 'handled', 'new'],
  );
});

test('a memory of no id, of a part of one or without end is refused', () => {
  for (const idsMax of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
    assert.throws(() => new MemorySeen({ idsMax }), RangeError);
});
