import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeField } from '../../test/support/make-field.ts';

test('a number is added to and subtracted from, and what overflows is refused', () => {
  const field = makeField({ type: 'number' });
  for (const [stored, modifier, value, result] of [
    [5, 'f+', 2.5, 7.5],
    [5, 'f-', '7', -2],
    [5, 'f+', '', 5],
    [5, 'f-', null, 5],
    [5, 'f-', true, 4],
    [5, 'f-', 5, 0],
    [0, 'f-', 0, 0],
  ] as const)
    assert.ok(Object.is(field.modify(stored, modifier, value), result), `${stored} ${modifier} ${value}`);
  for (const value of [1e308, '1e400', 'nan', Infinity, 'abc', '1,5', [], {}])
    assert.equal(field.check(field.modify(1e308, 'f+', value) ?? null)?.code, 'validation_not_a_number');
});

test('a sum of whole numbers that cannot be counted exactly is refused', () => {
  const field = makeField({ type: 'number' });
  const most = Number.MAX_SAFE_INTEGER;
  for (const [stored, modifier, value] of [
    [most, 'f+', 1],
    [most, 'f+', '1'],
    [-most, 'f-', 1],
    [-most, 'f+', -most],
  ] as const)
    assert.equal(
      field.check(field.modify(stored, modifier, value) ?? null)?.code,
      'validation_not_a_number',
      `${stored} ${modifier} ${value}`,
    );
  for (const [stored, modifier, value, result] of [
    [most, 'f+', 0, most],
    [most - 1, 'f+', true, most],
    [most, 'f-', most, 0],
    [1e300, 'f+', 1, 1e300],
    [1e16, 'f+', 2, 1e16 + 2],
  ] as const)
    assert.equal(field.modify(stored, modifier, value), result, `${stored} ${modifier} ${value}`);
});

test('texts of a list are appended, prepended and removed, each once', () => {
  for (const type of ['select', 'relation', 'file']) {
    const common = { type, values: ['a', 'b', 'c'], collectionId: 'c' };
    const several = makeField({ ...common, maxSelect: 3 });
    assert.equal(several.modify('["a","b"]', 'f+', ['c', 'a']), '["a","b","c"]');
    assert.equal(several.modify('["a","b"]', '+f', ['c', 'b']), '["c","b","a"]');
    assert.equal(several.modify('["a","b","c"]', 'f-', '["a","c","x"]'), '["b"]');
    assert.equal(several.modify('["a"]', 'f-', 'a'), '[]');
    assert.equal(several.modify('', 'f+', 'a'), '["a"]');
    const single = makeField({ ...common, maxSelect: 1 });
    assert.equal(single.modify('a', 'f+', 'b'), 'b', 'the last one is kept');
    assert.equal(single.modify('a', '+f', 'b'), 'a');
    assert.equal(single.modify('', '+f', 'b'), 'b');
    assert.equal(single.modify('a', 'f-', ['a', 'b']), '');
    assert.equal(single.modify('a', 'f-', 'b'), 'a');
  }
});

test('a generated text is appended to the text that was sent', () => {
  const field = makeField({ type: 'text', autogeneratePattern: '[0-9]{4}' });
  assert.match(String(field.modify('before', 'f:autogenerate', 'ORD-')), /^ORD-\d{4}$/);
  assert.match(String(field.modify('', 'f:autogenerate', null)), /^\d{4}$/);
  assert.equal(makeField({ type: 'text' }).modify('before', 'f:autogenerate', 'x'), 'x');
});
