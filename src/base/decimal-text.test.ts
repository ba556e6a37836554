import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { decimalText } from './text.ts';

const seed = 20_261_120;

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
