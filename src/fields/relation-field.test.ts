import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RawOptions } from './field-type.ts';
import { relationField } from './relation-field.ts';

function decode(raw: RawOptions) {
  const codes: string[] = [];
  const options = relationField.decodeOptions(raw, {
    add: (name, { code }) => codes.push(`${name} ${JSON.stringify(code)}`.replaceAll('"', '')),
  });
  return { options, codes };
}

/** A field of a valid definition: what is stored for a value, and the code that refuses it. */
function field(raw: RawOptions) {
  const { options, codes } = decode({ collectionId: 'pbc_1', ...raw });
  assert.deepEqual(codes, []);
  const normalise = (value: unknown) => relationField.normalise(value, options);
  return { normalise, code: (value: unknown) => relationField.check(normalise(value), options)?.code };
}

test('a definition has its collection, and bounds that a list can keep', () => {
  assert.deepEqual(decode({ collectionId: 'pbc_1' }).options, {
    collectionId: 'pbc_1',
    cascadeDelete: false,
    minSelect: 0,
    maxSelect: 0,
    required: false,
  });
  const refused: readonly (readonly [RawOptions, string])[] = [
    [{}, 'collectionId validation_required'],
    [{ collectionId: 5 }, 'collectionId validation_invalid_value'],
    [{ collectionId: 'c', minSelect: 1 }, 'maxSelect validation_required'],
    [
      { collectionId: 'c', minSelect: 3, maxSelect: 2 },
      'maxSelect validation_min_greater_equal_than_required',
    ],
    [{ collectionId: 'c', maxSelect: -1 }, 'maxSelect validation_min_greater_equal_than_required'],
    [{ collectionId: 'c', minSelect: 1.5 }, 'minSelect validation_invalid_value'],
    [{ collectionId: 'c', cascadeDelete: 1 }, 'cascadeDelete validation_invalid_value'],
  ];
  for (const [raw, code] of refused) assert.equal(decode(raw).codes[0], code);
});

test('one id is stored as text, the last of several; several as a list without repetitions', () => {
  const single = field({ maxSelect: 1 });
  const several = field({ maxSelect: 3 });
  for (const [value, one, list] of [
    [null, '', '[]'],
    ['', '', '[]'],
    ['a', 'a', '["a"]'],
    [5, '5', '["5"]'],
    [{}, null, null],
    [['a', 'b', '', 'a', null], 'b', '["a","b"]'],
    ['["a","b"]', 'b', '["a","b"]'],
  ] as const) {
    assert.equal(single.normalise(value), one, JSON.stringify(value));
    assert.equal(several.normalise(value), list, JSON.stringify(value));
  }
});

test('too few and too many ids are refused, and none only where one is required', () => {
  const some = field({ minSelect: 2, maxSelect: 3 });
  assert.equal(some.code([]), undefined);
  assert.equal(some.code(['a']), 'validation_not_enough_values');
  assert.equal(some.code(['a', 'b', 'c']), undefined);
  assert.equal(some.code(['a', 'b', 'c', 'd']), 'validation_too_many_values');
  assert.equal(field({ required: true }).code(''), 'validation_required');
  assert.equal(field({ required: true, minSelect: 2, maxSelect: 3 }).code([]), 'validation_required');
  const many = Array.from({ length: 1_000 }, (_, index) => `id${index}`);
  assert.equal(field({ maxSelect: 1_000 }).code(many), undefined);
});

test('an invalid id is refused before it reaches a database', () => {
  for (const raw of [{ maxSelect: 1 }, { maxSelect: 2 }]) {
    const { code } = field(raw);
    for (const value of ['["\\u0000"]', '["\\ud800"]', 'x'.repeat(256), 'ä'.repeat(128)])
      assert.equal(code(value), 'validation_missing_rel_records', value.slice(0, 20));
    assert.equal(code('x'.repeat(255)), undefined);
  }
});
