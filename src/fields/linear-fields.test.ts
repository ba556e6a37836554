import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '../../test/support/cpu-time.ts';
import { makeField } from '../../test/support/make-field.ts';
import { decodeField } from './field.ts';
import { fieldTypes } from './field-types.ts';

const textLength = 100_000;

const definitions: Readonly<Record<string, readonly object[]>> = {
  text: [{ pattern: '^[a-z]+$' }, { name: 'id', primaryKey: true, required: true, pattern: '^.+$' }],
  select: [{ values: ['a', 'b'] }, { values: ['a', 'b'], maxSelect: 2 }, manyValues()],
  relation: [{ collectionId: 'c' }, { collectionId: 'c', maxSelect: 1_000_000 }],
  autodate: [{ onCreate: true }],
  file: [{}, { maxSelect: 99 }],
};

function manyValues(): object {
  const values = Array.from({ length: 10_000 }, (_, index) => `v${index}`);
  return { values, maxSelect: values.length };
}

/** Texts that stop a pattern which can match the same characters in two ways, and JSON that is long in every way. */
function hostileTexts(): readonly string[] {
  const filled = (part: string): string => part.repeat(Math.ceil(textLength / part.length));
  const repeated = [
    '1',
    '.',
    '1.',
    '-',
    '+',
    'e',
    'a',
    ' ',
    '\t',
    '\n',
    '@',
    'a.',
    'a@',
    '%',
    '\\',
    '"',
    '[',
    '{',
    '😀',
  ];
  const lists = ['1,', '1 , ', '"a",', '"\\u00e9",', '[],', '{},', '{"a":1},'].map(
    (item) => `[${filled(item)}1]`,
  );
  const numbers = Array.from({ length: textLength / 10 }, (_, index) => index);
  return [
    ...repeated.flatMap((part) => ['', '!', '"', ']', 'x', '1e'].map((end) => filled(part) + end)),
    ...['+', '.', '1e', 'http://', 'https://a.', 'a@', '2020-01-01 '].flatMap((start) => [`${start}${filled('1')}x`, start + filled('a.')]),
    ...lists,
    filled('[') + filled(']'),
    JSON.stringify(numbers.map((number) => `v${number}`)),
    JSON.stringify(Object.fromEntries(numbers.map((number) => [`k${number}`, number]))),
    JSON.stringify(Object.fromEntries(numbers.map((number) => [number * 4_001, number]))),
    `{"lon":1,"lat":2,"x":"${filled('a')}"}`,
  ]; // prettier-ignore
}

test('I-31 a long text costs no type of field more than linear time, whole or with a modifier', async () => {
  const texts = hostileTexts();
  for (const { type, modifiers = [] } of fieldTypes.values())
    for (const definition of definitions[type] ?? [{}]) {
      const field = makeField({ type, ...definition });
      for (const text of texts)
        for (const modifier of [undefined, ...modifiers])
          await assertLinear(`${modifier} of ${type} with ${text.slice(0, 20)}…`, text, () =>
            field.check(
              modifier === undefined
                ? field.normalise(text)
                : (field.modify(field.zero, modifier, text) ?? null),
            ),
          );
    }
});

test('I-31 thousands of texts just short enough for a number cost linear time', async () => {
  const field = makeField({ type: 'number' });
  const text = `${'1'.repeat(399)}x`;
  await assertLinear('4,000 texts for numbers', { length: 4_000 * text.length, factor: 20 }, () => {
    for (let count = 0; count < 4_000; count += 1) field.normalise(text);
  });
});

test('I-31 of a million texts no more are looked at than a field may have', async () => {
  const texts = Array.from({ length: 1_000_000 }, (_, index) => `value ${index}`);
  const json = JSON.stringify(texts);
  for (const [type, code] of [
    ['select', 'validation_too_many_values'],
    ['relation', 'validation_too_many_values'],
    ['file', 'validation_too_many_files'],
  ] as const)
    for (const value of [texts, json]) {
      const several = makeField({
        type,
        values: texts.slice(0, 10_000),
        collectionId: 'c',
        maxSelect: 10_000,
      });
      const single = makeField({ type, values: ['a'], collectionId: 'c' });
      await assertLinear(`${type} of a million texts`, { length: json.length, factor: 1 }, () => {
        several.code(value);
        single.code(value);
        for (const modifier of ['f+', '+f', 'f-'] as const) several.modify('["a"]', modifier, value);
      });
      if (value === json) continue;
      assert.equal(several.code(value), code);
      const added = several.modify('["value 1"]', 'f+', value) ?? null;
      assert.equal(several.check(several.modify(added, 'f-', texts.slice(1, 9_999)) ?? null)?.code, code);
      assert.equal(single.normalise(value), texts.at(-1));
    }
});

test('S-18 definitions of megabytes are refused in linear time, and options have a maximum of texts', async () => {
  const text = 'a'.repeat(10_000_000);
  const texts = Array.from({ length: 500_000 }, (_, index) => `v${index}.example`);
  const problemsOf = (raw: object): readonly string[] => {
    const problems: string[] = [];
    decodeField({ name: 'value', ...raw }, { add: (name) => void problems.push(name) });
    return problems;
  };
  for (const [type, option, value] of [
    ['text', 'help', text],
    ['text', 'pattern', text],
    ['text', 'autogeneratePattern', text],
    ['password', 'pattern', text],
    ['select', 'values', texts],
    ['email', 'onlyDomains', texts],
    ['url', 'exceptDomains', texts],
    ['file', 'mimeTypes', texts],
    ['file', 'thumbs', texts],
  ] as const)
    await assertLinear(`${option} of ${type}`, { length: text.length, factor: 3 }, () =>
      assert.ok(problemsOf({ type, [option]: value }).includes(option), option),
    );
  assert.deepEqual(problemsOf({ type: 'select', values: texts.slice(0, 10_000) }), []);
});
