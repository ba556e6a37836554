import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeField } from '../../test/support/make-field.ts';

test('a password is checked in the order of the contract, in its words and without params', () => {
  const field = makeField({ type: 'password', min: 3, max: 5, pattern: '^[a-z😀]+$' });
  assert.equal(field.code(''), undefined);
  assert.equal(field.code('abc😀😀'), undefined, 'characters count, not units');
  assert.deepEqual(field.check('A'), {
    code: 'validation_min_text_constraint',
    message: 'Must be at least 3 character(s).',
  });
  assert.deepEqual(field.check('ABCDEF'), {
    code: 'validation_max_text_constraint',
    message: 'Must be less than 5 character(s).',
  });
  assert.equal(field.code('ABC'), 'validation_invalid_format');
  assert.equal(makeField({ type: 'password', required: true }).code({}), 'validation_unsupported_value_type');
});

test('A12 no password has more than 512 bytes, whatever its field sets', () => {
  for (const max of [0, 512]) {
    const field = makeField({ type: 'password', max });
    assert.equal(field.code('x'.repeat(512)), undefined);
    assert.equal(field.code('é'.repeat(256)), undefined);
    assert.deepEqual(field.check('é'.repeat(257)), {
      code: 'validation_max_text_constraint',
      message: 'Must be less than 512 bytes.',
    });
  }
  assert.equal(makeField({ type: 'password' }).code(' '.repeat(5_000_000)), 'validation_max_text_constraint');
});
