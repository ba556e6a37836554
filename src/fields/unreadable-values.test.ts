import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeField } from '../../test/support/make-field.ts';
import type { RawOptions } from './field-type.ts';

test('an unreadable value is refused with the form that its type expects', () => {
  const refusals: readonly (readonly [RawOptions, readonly unknown[], string])[] = [
    [{ type: 'text' }, [[], ['a'], {}, { a: 1 }], 'validation_unsupported_value_type'],
    [{ type: 'email' }, [[], ['a@example.com'], {}], 'validation_unsupported_value_type'],
    [{ type: 'url' }, [[], ['https://example.com'], {}], 'validation_unsupported_value_type'],
    [{ type: 'editor' }, [[], ['<p>'], {}], 'validation_unsupported_value_type'],
    [{ type: 'password' }, [[], ['secret'], {}], 'validation_unsupported_value_type'],
    [{ type: 'bool' }, ['yes', 'on', 'tRUE', ' true', '2', '٠', [], [true], {}], 'validation_invalid_value'],
    [
      { type: 'date' },
      ['07.01.2024', '2024-1-7', '2023-02-30', 'tomorrow', '1700000000', '2024', '2024-01', true, false, [], ['2024-01-07'], {}, 1e300, 253_402_300_800_000, -1e15],
      'validation_invalid_value',
    ],
    [{ type: 'select', values: ['a'] }, [{}, { id: 'a' }, [['a']], ['a', {}]], 'validation_unsupported_value_type'],
    [{ type: 'relation', collectionId: 'c', maxSelect: 2 }, [{ id: 'a' }, [{ id: 'a' }], [['a']]], 'validation_unsupported_value_type'],
  ]; // prettier-ignore
  for (const [raw, values, code] of refusals)
    for (const value of values)
      for (const required of [false, true])
        assert.equal(
          makeField({ ...raw, required }).code(value),
          code,
          `${String(raw['type'])} ${JSON.stringify(value)}`,
        );
});

test('a Unix time is a date where it is a number: in seconds, or from 10^11 on in milliseconds', () => {
  const field = makeField({ type: 'date' });
  const stored: readonly (readonly [number, string])[] = [
    [1_704_585_600, '2024-01-07 00:00:00.000Z'],
    [1_704_585_600_000, '2024-01-07 00:00:00.000Z'],
    [1_704_585_600.25, '2024-01-07 00:00:00.250Z'],
    [-1, '1969-12-31 23:59:59.000Z'],
    [99_999_999_999, '5138-11-16 09:46:39.000Z'],
    [100_000_000_000, '1973-03-03 09:46:40.000Z'],
    [-100_000_000_000, '1966-10-31 14:13:20.000Z'],
  ];
  for (const [time, date] of stored) assert.equal(field.normalise(time), date, String(time));
});

test('numbers are read from decimal texts, and infinite ones are refused', () => {
  const field = makeField({ type: 'number' });
  const stored = { '5': 5, '-5.25': -5.25, '+1': 1, '.5': 0.5, '5.': 5, '1e3': 1000, '1E-3': 0.001, ' 5': 5, '5 ': 5, '\t-5.5\r\n': -5.5, '': 0, ' ': 0, '-0': 0 }; // prettier-ignore
  for (const [text, value] of Object.entries(stored))
    assert.ok(Object.is(field.normalise(text), value), text);
  for (const value of [
    NaN,
    Infinity,
    -Infinity,
    '1e400',
    '-1e400',
    'NaN',
    'inf',
    '-Infinity',
    '9007199254740993',
    '-9007199254740992',
    '0'.repeat(401),
    `-.${'5'.repeat(250_000)}x`,
    `e${'5'.repeat(400)}`,
    ' '.repeat(401),
    '0x10',
    '1_000',
    '5a',
    '1,5',
    '1.5,0',
    '1 000',
    '٣',
    '-',
    '.',
    'e5',
    '1e',
    'abc',
    '--5',
    '5 5',
    'null',
    'true',
    '\u{1d7d9}',
    [],
    [1],
    {},
  ])
    assert.deepEqual(field.check(field.normalise(value)), {
      code: 'validation_not_a_number',
      message: 'The submitted number is not properly formatted.',
    });
  assert.equal(field.normalise(`1.${'5'.repeat(398)}`), 1 + 5 / 9);
  assert.equal(field.toJson(1e21), '1e+21');
  assert.equal(field.toJson(1e-7), '1e-7');
});
