import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RowTexts } from './row-texts.ts';

const kind = {};

test('a text is found by the position and the revision of its row', () => {
  const texts = new RowTexts({ lengthMax: 100_000 });
  assert.deepEqual(
    texts.keep(kind, [
      [1, 1, 'one'],
      [2, 7, 'two'],
    ]),
    ['one', 'two'],
  );
  assert.deepEqual(
    texts.find(kind, [
      [2, 7],
      [1, 1],
    ]),
    ['two', 'one'],
  );
  assert.deepEqual(texts.find(kind, []), []);
});

test('a row that has changed, another row and another kind of text are not known', () => {
  const texts = new RowTexts({ lengthMax: 100_000 });
  texts.keep(kind, [[1, 1, 'one']]);
  assert.equal(texts.find(kind, [[1, 2]]), undefined);
  assert.equal(texts.find(kind, [[2, 1]]), undefined);
  assert.equal(texts.find({}, [[1, 1]]), undefined);
  texts.keep(kind, [[1, 2, 'changed']]);
  assert.deepEqual(texts.find(kind, [[1, 2]]), ['changed']);
  assert.equal(texts.find(kind, [[1, 1]]), undefined);
});

test('it is warm while lists find all that they ask for', () => {
  const texts = new RowTexts({ lengthMax: 100_000 });
  assert.equal(texts.isWarm(kind), false);
  texts.keep(kind, [[1, 1, 'one']]);
  assert.equal(texts.isWarm(kind), false);
  texts.keep(kind, [[1, 1, 'one']]);
  assert.equal(texts.isWarm(kind), true);
  texts.find(kind, [[1, 1]]);
  assert.equal(texts.isWarm(kind), true);
  texts.find(kind, [[1, 2]]);
  assert.equal(texts.isWarm(kind), false);
});

test('all kinds share a length, and what nobody asks for goes first', () => {
  const lengthMax = 100_000;
  const texts = new RowTexts({ lengthMax });
  const text = 'x'.repeat(900);
  texts.keep(kind, [[0, 1, text]]);
  for (let position = 1; position <= 1_000; position += 1) {
    texts.keep({}, [[position, 1, text]]);
    texts.keep(kind, [[position, 1, text]]);
    assert.deepEqual(texts.find(kind, [[0, 1]]), [text]);
  }
  const positions = Array.from({ length: 1_001 }, (_, position) => position);
  const known = positions.filter((position) => texts.find(kind, [[position, 1]]) !== undefined);
  assert.ok(known.length * text.length <= 2 * lengthMax, `${known.length} are left`);
  assert.ok(known.length > 10, `only ${known.length} are left`);
});

test('a text that would drive out many others is not kept', () => {
  const texts = new RowTexts({ lengthMax: 100_000 });
  assert.deepEqual(texts.keep(kind, [[1, 1, 'x'.repeat(5_000)]]).length, 1);
  assert.equal(texts.find(kind, [[1, 1]]), undefined);
});
