import assert from 'node:assert/strict';
import { test } from 'node:test';
import { likePattern } from './compile.ts';

const raw = String.raw;
const patterns: readonly (readonly [value: string, pattern: string])[] = [
  ['', '%%'],
  ['a', '%a%'],
  ['a_b', raw`%a\_b%`],
  ['__', raw`%\_\_%`],
  [raw`a\_b`, raw`%a\_b%`],
  [raw`a\%b`, raw`%a\%b%`],
  [raw`a\b`, raw`%a\\b%`],
  [raw`a\\b`, raw`%a\\b%`],
  [raw`a\\_b`, raw`%a\\\_b%`],
  [raw`\\\_`, raw`%\\\_%`],
  [raw`\\`, raw`%\\%`],
  ['a%', 'a%'],
  ['%_', '%_'],
  [raw`a\_%`, raw`a\_%`],
  [raw`a\\%`, raw`a\\%`],
  [raw`\%%`, raw`\%%`],
];

for (const [value, pattern] of patterns) {
  test(`the value ${value} becomes the pattern ${pattern}`, () => {
    assert.equal(likePattern(value), pattern);
  });
}
