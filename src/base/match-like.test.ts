import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { matchLike } from './match-like.ts';

const database = new DatabaseSync(':memory:');
const like = database.prepare(String.raw`SELECT ? LIKE ? ESCAPE '\' AS is_match`);

function isMatch(text: string, pattern: string): boolean {
  return matchLike(Buffer.from(text), pattern);
}

test('a pattern matches as for LIKE: wildcards, escapes, the case of ASCII letters, and characters of several bytes', () => {
  const part = fc.constantFrom('a', 'A', 'b', '%', '_', '\\', 'é', '😀', '\n');
  const text = fc.string({ unit: part, maxLength: 8 });
  // Some patterns take more than one word of 32 steps.
  const pattern = fc.oneof(fc.string({ unit: part, maxLength: 6 }), fc.string({ unit: part, maxLength: 70 }));
  let matches = 0;
  fc.assert(
    fc.property(text, pattern, (value, sought) => {
      const expected = like.get(value, sought)?.['is_match'] === 1;
      if (expected) matches += 1;
      assert.equal(isMatch(value, sought), expected, JSON.stringify([value, sought]));
    }),
    { numRuns: 20_000, seed: 20_261_120 },
  );
  assert.ok(matches > 200, 'too few pairs match');
});

test('a pattern of several words of steps matches at every length', () => {
  for (let length = 0; length <= 130; length += 1) {
    const text = 'ab'.repeat(length).slice(0, length);
    assert.equal(isMatch(text, `%${text.replaceAll('b', '_')}`), true, String(length));
    assert.equal(isMatch(`x${text}y`, `%${text}%`), true, String(length));
    assert.equal(isMatch(text, `${text}_`), false, String(length));
  }
});
