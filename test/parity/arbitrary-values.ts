import * as fc from 'fast-check';

/**
 * Values that meet: rows and filters take from the same small pools, or hardly a question would select anything. Everything
 * that made engines differ, somewhere, is in here by hand.
 */
const oddTexts = [
  '',
  ' ',
  'a',
  'A',
  'b',
  'ab',
  'aB',
  'Z',
  'é',
  'É',
  'e\u0301',
  'ä',
  'Ä',
  'ß',
  'İ',
  'ı',
  'K',
  'Σς',
  '😀',
  '\uff5e',
  '\u{10ffff}',
  '\u00a0',
  '日本',
  '%',
  '_',
  '\\',
  'a%',
  '%a',
  '_b',
  'a_b',
  '100%',
  'a\\',
  '\\%',
  '\\\\',
  'a\\%b',
  "it's",
  'say "x"',
  '-',
  'a-b',
  'a b',
  'AB c',
  '\n',
  '\t5\r',
  '?',
  '$1',
  'null',
  'true',
  '[]',
  '["a"]',
  '{}',
  'x'.repeat(300),
];

const numberTexts = [
  '0',
  '1',
  '5',
  '5.0',
  ' 5',
  '5 ',
  '05',
  '-5',
  '+5',
  '0x5',
  '1e2',
  '1E+2',
  '.5',
  '5.',
  '1e',
  '-',
  '1e400',
  '-1e400',
  '1e-400',
  '0.0000001e-330',
  '1' + '0'.repeat(330),
  '0e999999999999',
  '1e999999999999',
  '1e-999999999999',
  '5\u00a0',
  '٥',
  'Infinity',
  'NaN',
  'inf',
  '1.0e+21',
  '1.0e-07',
  '100000000000000000',
  '1_0',
];

const dateTexts = [
  '2026-11-20 09:35:20.114Z',
  '2026-11-20 00:00:00.000Z',
  '2026-11-21 09:35:20.114Z',
  '2000-01-01 00:00:00.000Z',
  '1969-12-31 23:59:59.999Z',
  '9999-12-31 23:59:59.999Z',
];

export const dates = fc.constantFrom('', ...dateTexts);

const oddNumbers = [
  0,
  1,
  -1,
  2,
  5,
  5.5,
  -2.5,
  0.1,
  100,
  1e15,
  1e16,
  1e17,
  1e18,
  1e19,
  1e20,
  1e21,
  1.5e300,
  1e-4,
  1e-5,
  1e-7,
  -1e-7,
  12.25,
  123_456.789,
  2 ** 53 - 1,
  1 - 2 ** 53,
  1 / 3,
  0.1 + 0.2,
  2e-307,
  1e308,
  2 ** 63,
  -(2 ** 63),
];

/** Few digits, or whole and exact: for others see docs/filters.md. */
export const numbers = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...oddNumbers) },
  { weight: 3, arbitrary: fc.integer({ min: -9, max: 9 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.integer({ min: -99_999, max: 99_999 }), fc.integer({ min: -30, max: 30 }))
      .map(([digits, exponent]) => Number(`${digits}e${exponent}`) + 0),
  },
);

const shortTexts = fc.string({
  maxLength: 4,
  unit: fc.constantFrom('a', 'A', 'b', 'é', '%', '_', '\\', '1', ' ', '😀'),
});

export const texts = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...oddTexts) },
  { weight: 2, arbitrary: fc.constantFrom(...numberTexts) },
  { weight: 1, arbitrary: dates },
  { weight: 2, arbitrary: shortTexts },
  { weight: 1, arbitrary: numbers.map(String) },
  // Any well-formed text but for U+0000, which is refused before it comes here, and the noncharacters, which SQLite's LIKE takes for U+FFFD.
  {
    weight: 1,
    arbitrary: fc.string({ maxLength: 5, unit: 'binary' }).filter((text) => !/[\0\ufffe\uffff]/u.test(text)),
  },
);

/** Names of members that paths can lead to; digits are places in arrays and never members. */
export const memberNames = ['a', 'b', 'A', 'list', '0', 'a_b', '01'] as const;

const scalars = fc.oneof(texts, numbers, fc.constantFrom(null, true, false));

export const jsons: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalars,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...memberNames, 'é', 'z"z', ''), tie('value'), { maxKeys: 3 }),
  ),
})).value;

export const choices = ['a', 'A', 'é', '5', 'b"b', 'a%', 'x\\y'] as const;
