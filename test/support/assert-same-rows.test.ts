import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertSameRows } from './assert-same-rows.ts';

test('rows that differ are named one a line, and those that are equal are not', () => {
  assert.doesNotThrow(() => assertSameRows({ a: [1], b: 2 }, { b: 2, a: [1] }, 'letters'));
  assert.throws(() => assertSameRows({ a: [1, 2], b: 2, d: 4 }, { a: [1, 3], b: 2, c: 3 }, 'letters'), {
    message: 'letters\n  different: a: [1,2], expected [1,3]\n  missing: c\n  superfluous: d',
  });
});
