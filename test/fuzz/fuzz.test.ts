import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFilter } from '../../src/filters/parse.ts';
import { fuzzFilters } from './fuzz-filters.ts';

test('Q-11 random filters, sorts and fields become SQL or a bad request, and nothing else', (context) => {
  const seed = 20_261_120;
  context.diagnostic(`seed ${seed}; more with npm run fuzz`);
  const { inputs, accepted } = fuzzFilters({ inputs: 8_000, seed });
  assert.ok(accepted > inputs / 10, 'too few were understood');
});

const repeated = [
  '(',
  ' ',
  '\n',
  '//\n',
  '//',
  'a',
  '-',
  '9',
  '.',
  "'",
  "\\'",
  '"\\',
  '&&',
  '?=',
  '=',
  '!',
  'a=1&&',
  'a=1(',
  'f(',
  'f(f(',
  '@',
  'a:',
  'a.',
  '%',
  '\u00e9',
];

test('Q-10 Q-11 no text of one part over and over takes more than a time in its length', () => {
  for (const part of repeated) {
    for (const begin of ['', 'a = ', "a = '", 'a = f(']) {
      const text = `${begin}${part.repeat(4_000)}`.slice(0, 3_500);
      // Of this process: others may keep the machine busy. A square would be 12 million steps, a second power more a minute.
      const before = process.cpuUsage();
      try {
        parseFilter(text);
      } catch (error) {
        assert.equal(error instanceof Error && 'code' in error && error.code, 'bad_request');
      }
      assert.ok(process.cpuUsage(before).user < 1_000_000, `${begin}${part}`);
    }
  }
});
