import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limit } from './sql.ts';

test('the number of rows stands in the text, and how many are left out is a value', () => {
  const text = ' LIMIT CAST(30 AS bigint)';
  assert.deepEqual([limit(30).text, limit(30).values], [text, []]);
  const { text: behind, values } = limit(30, 60);
  assert.ok(behind.startsWith(`${text} OFFSET `));
  assert.deepEqual(values, [60]);
});

test('a limit that is no number of rows is rejected', () => {
  for (const count of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])
    assert.throws(() => limit(count), /a whole number of rows/);
});
