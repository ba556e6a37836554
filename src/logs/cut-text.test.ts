import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutText } from './request-log.ts';

test('a text that is cut in the middle of a character ends with a sign for it', () => {
  assert.equal(cutText('ab\u{1f600}', 3), 'ab\ufffd');
  assert.equal(cutText('ab\u{1f600}', 4), 'ab\u{1f600}');
});
