import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { decimalText, numberOfText, realText } from './numbers.ts';

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

test('a text is a number beside a number column exactly when SQLite takes it for one', (context) => {
  context.diagnostic(`seed ${seed}`);
  database.exec('CREATE TABLE one (n REAL); INSERT INTO one VALUES (0)');
  const equal = database.prepare('UPDATE one SET n = ?');
  const matches = database.prepare('SELECT count(*) AS count FROM one WHERE n = ?');
  const unit = fc.constantFrom('1', '0', '.', 'e', 'E', '+', '-', ' ', '\t', 'x', '\u00a0', '_');
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 6 }), (text) => {
      const number = numberOfText(text);
      if (number === undefined) {
        // Were it a number, it would equal what JavaScript or a prefix of it says.
        equal.run(Number.isNaN(Number(text)) ? 0 : Number(text));
        assert.equal(matches.get(text)?.['count'], 0, text);
      } else {
        equal.run(number);
        assert.equal(matches.get(text)?.['count'], 1, text);
      }
    }),
    { numRuns: 10_000, seed },
  );
});

test('a decimal has no exponent and means the same number', (context) => {
  context.diagnostic(`seed ${seed}`);
  assert.deepEqual([5, 5.5, 1e21, -1.25e22, 1e-7, -1.5e-7].map(decimalText), [
    '5',
    '5.5',
    '1000000000000000000000',
    '-12500000000000000000000',
    '0.0000001',
    '-0.00000015',
  ]);
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      assert.match(decimalText(value), /^-?\d+(\.\d+)?$/);
      assert.equal(Number(decimalText(value)), value === 0 ? 0 : value);
    }),
    { numRuns: 5_000, seed },
  );
});
