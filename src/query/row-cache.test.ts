import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tuple } from '../storage/database.ts';
import { type RowKind, RowJsonCache } from './row-cache.ts';

const ours: RowKind = { isFilled: false };

function find(texts: RowJsonCache, rows: readonly Tuple[]): readonly string[] | undefined {
  return texts.find(ours, rows);
}

test('a text is found by the position and the revision of its row', () => {
  const texts = new RowJsonCache({ lengthMax: 100_000 });
  assert.deepEqual(
    texts.keep(ours, [
      [1, 1, 'one'],
      [2, 7, 'two'],
    ]),
    ['one', 'two'],
  );
  assert.deepEqual(
    find(texts, [
      [2, 7],
      [1, 1],
    ]),
    ['two', 'one'],
  );
  assert.deepEqual(find(texts, []), []);
});

test('a row that has changed, another row and another kind of text are not known', () => {
  const texts = new RowJsonCache({ lengthMax: 100_000 });
  texts.keep(ours, [[1, 1, 'one']]);
  assert.equal(find(texts, [[1, 2]]), undefined);
  assert.equal(find(texts, [[2, 1]]), undefined);
  assert.equal(texts.find({ isFilled: false }, [[1, 1]]), undefined);
  texts.keep(ours, [[1, 2, 'changed']]);
  assert.deepEqual(find(texts, [[1, 2]]), ['changed']);
  assert.equal(find(texts, [[1, 1]]), undefined);
});

test('the cache is warm while lists find all their rows', () => {
  const texts = new RowJsonCache({ lengthMax: 100_000 });
  assert.equal(ours.isFilled, false);
  texts.keep(ours, [[1, 1, 'one']]);
  assert.equal(ours.isFilled, false);
  texts.keep(ours, [[1, 1, 'one']]);
  assert.equal(ours.isFilled, true);
  find(texts, [[1, 1]]);
  assert.equal(ours.isFilled, true);
  find(texts, [[1, 2]]);
  assert.equal(ours.isFilled, false);
});

test('all kinds share a maximum length, and unused texts are evicted first', () => {
  const lengthMax = 100_000;
  const texts = new RowJsonCache({ lengthMax });
  const text = 'x'.repeat(900);
  texts.keep(ours, [[0, 1, text]]);
  for (let position = 1; position <= 1_000; position += 1) {
    texts.keep({ isFilled: false }, [[position, 1, text]]);
    texts.keep(ours, [[position, 1, text]]);
    assert.deepEqual(find(texts, [[0, 1]]), [text]);
  }
  const positions = Array.from({ length: 1_001 }, (_, position) => position);
  const known = positions.filter((position) => find(texts, [[position, 1]]) !== undefined);
  assert.ok(known.length * text.length <= 2 * lengthMax, `${known.length} are left`);
  assert.ok(known.length > 10, `only ${known.length} are left`);
});

test('a text that would drive out many others is not kept', () => {
  const texts = new RowJsonCache({ lengthMax: 100_000 });
  assert.deepEqual(texts.keep(ours, [[1, 1, 'x'.repeat(5_000)]]).length, 1);
  assert.equal(find(texts, [[1, 1]]), undefined);
});
