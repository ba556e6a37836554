import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { realText } from './text.ts';

const database = new DatabaseSync(':memory:');
const seed = 20_261_120;

test('a real as people write them is written as SQLite writes it', (context) => {
  context.diagnostic(`seed ${seed}`);
  const cast = database.prepare('SELECT CAST(? AS TEXT) AS text');
  const check = (value: number): void => assert.equal(realText(value), cast.get(value)?.['text']);
  for (const value of [0, -0, 5, 0.1, 5.5, 1e15, 1e16, 1e17, 1e21, 1e-4, 1e-5, 123456.789012, 1e300])
    check(value);
  const short = fc.tuple(fc.integer({ min: -9_999_999, max: 9_999_999 }), fc.integer({ min: -6, max: 30 }));
  fc.assert(
    fc.property(short, ([digits, exponent]) => check(Number(`${digits}e${exponent}`))),
    { numRuns: 5_000, seed },
  );
});

test('a real of many digits is written with as few as mean the same', () => {
  assert.equal(realText(1 / 3), '0.3333333333333333');
  assert.equal(realText(335.485475988557), '335.485475988557');
  assert.equal(realText(-5e-324), '-5.0e-324');
});
