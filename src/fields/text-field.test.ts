import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeField, idField } from './field.ts';
import type { RawOptions } from './field-type.ts';
import { textField, type TextOptions } from './text-field.ts';

function decode(raw: RawOptions): TextOptions {
  const options = textField.decodeOptions(raw, {
    add: (name, error) => assert.fail(`${name} ${JSON.stringify(error)}`),
  });
  return options;
}

const id = (raw: RawOptions = {}) =>
  decode({ name: 'id', primaryKey: true, required: true, pattern: '^\\S+$', ...raw });

test('lengths are counted in code points', () => {
  const options = decode({ min: 2, max: 3 });
  assert.deepEqual(textField.check('😀', options), {
    code: 'validation_min_text_constraint',
    message: 'Must be at least 2 character(s).',
    params: { min: 2 },
  });
  assert.equal(textField.check('😀😀', options), undefined);
  assert.equal(textField.check('😀😀😀', options), undefined);
  assert.deepEqual(textField.check('😀😀😀😀', options), {
    code: 'validation_max_text_constraint',
    message: 'Must be no more than 3 character(s).',
    params: { max: 3 },
  });
  assert.equal(textField.check('', options), undefined, 'empty skips the bounds');
});

test('a text without a maximum has 5,000 characters at most', () => {
  const options = decode({});
  assert.equal(textField.check('😀'.repeat(5000), options), undefined);
  assert.equal(textField.check('x'.repeat(5001), options)?.code, 'validation_max_text_constraint');
  assert.equal(textField.check('x'.repeat(6000), decode({ max: 6000 })), undefined);
});

test('the pattern comes last and is found anywhere', () => {
  const options = decode({ pattern: 'b+', max: 3 });
  assert.equal(textField.check('abc', options), undefined);
  assert.deepEqual(textField.check('ac', options), {
    code: 'validation_invalid_format',
    message: 'Invalid value format.',
  });
  assert.equal(textField.check('aaaa', options)?.code, 'validation_max_text_constraint');
});

test('a pattern made to be slow is answered in time', () => {
  const options = decode({ pattern: '^(([a-z])+.)+[A-Z]([a-z])+$' });
  const begun = performance.now();
  assert.equal(textField.check('a'.repeat(5000), options)?.code, 'validation_invalid_format');
  // By backtracking it would not end at all.
  assert.ok(performance.now() - begun < 30_000);
});

test('I-30 the larger a pattern is, the shorter are the texts that it is matched with', () => {
  const max = 20_000;
  const large = decode({ pattern: '(?:[ab]\\pL?){600}[cd]', max });
  const tooLong = textField.check('a'.repeat(max), large);
  assert.equal(tooLong?.code, 'validation_max_text_constraint');
  const { max: lengthMax } = tooLong.params ?? {};
  assert.ok(typeof lengthMax === 'number' && lengthMax >= 5_000 && lengthMax < 6_000, String(lengthMax));
  assert.equal(textField.check('b'.repeat(lengthMax), large)?.code, 'validation_invalid_format');
  assert.equal(textField.check('b'.repeat(lengthMax + 1), large)?.code, 'validation_max_text_constraint');
  const small = decode({ pattern: '^[a-z]+$', max: 1_000_000 });
  assert.equal(textField.check('a'.repeat(1_000_000), small), undefined);
});

test('texts come back byte for byte', () => {
  const options = decode({});
  for (const text of ['a\r\n ', '\u202e<&>\u2028', 'e\u0301'.repeat(1000), '👩‍👩‍👧'])
    assert.equal(JSON.parse(textField.toJson(textField.normalise(text, options), options)), text);
  assert.equal(textField.toJson('<&>\u2028', options), '"<&>\u2028"');
});

test('ids with a pattern of their own must still be fit for paths and files', () => {
  for (const ch of './\\|"\'`<>:?*%$\0\t\n\r ')
    assert.deepEqual(textField.check(`a${ch}b`, id()), {
      code: 'validation_forbidden_pk_character',
      message: `'${ch}' is not a valid primary key character.`,
      params: { ch },
    });
  for (const reserved of ['con', 'CON', 'Prn', 'aux', 'nul', 'com1', 'LPT9'])
    assert.deepEqual(textField.check(reserved, id()), {
      code: 'validation_reserved_pk',
      message: `The primary key '${reserved}' is reserved and cannot be used.`,
      params: { reserved },
    });
  for (const fine of ['com0', 'com10', 'A-b_C', 'é'])
    assert.equal(textField.check(fine, id()), undefined, fine);
  assert.equal(textField.check('', id({ required: true }))?.code, 'validation_required');
  assert.equal(textField.check('é'.repeat(128), id())?.code, 'validation_max_text_constraint');
  assert.equal(textField.check('é'.repeat(127), id()), undefined);
  const long = id({ pattern: '^[a-z0-9]+$', max: 1000 });
  assert.equal(textField.check('a'.repeat(256), long)?.code, 'validation_max_text_constraint');
});

test('the ordinary id has exactly 15 lower-case letters and digits', () => {
  // idField is made by decodeField, which keeps what textField.decodeOptions gave.
  const options = idField().options as TextOptions;
  const refused = { '': 'validation_required', abc: 'validation_min_text_constraint', '0123456789abcdef': 'validation_max_text_constraint', '0123456789abcdE': 'validation_invalid_format', '../../../../../': 'validation_invalid_format', '-0123456789abcd': 'validation_invalid_format', '0123456789abcd\n': 'validation_invalid_format' }; // prettier-ignore
  for (const [value, code] of Object.entries(refused))
    assert.equal(textField.check(value, options)?.code, code, value);
  for (let turn = 0; turn < 100; turn++)
    assert.match(String(textField.generate?.(options)), /^[a-z0-9]{15}$/);
  assert.equal(textField.generate?.(decode({})), undefined);
});

test('every wrong option is refused under its name', () => {
  const cases: readonly (readonly [RawOptions, string, string])[] = [
    [{ min: -1 }, 'min', 'validation_min_greater_equal_than_required'],
    [{ min: 1.5 }, 'min', 'validation_invalid_value'],
    [{ min: '1' }, 'min', 'validation_invalid_value'],
    [{ max: 2 ** 53 }, 'max', 'validation_max_less_equal_than_required'],
    [{ min: 5, max: 4 }, 'max', 'validation_min_greater_equal_than_required'],
    [{ pattern: '(' }, 'pattern', 'validation_invalid_regex'],
    [{ pattern: '(?=a)' }, 'pattern', 'validation_invalid_regex'],
    [{ pattern: '(a)\\1' }, 'pattern', 'validation_invalid_regex'],
    [{ pattern: '((a{1000}){1000})' }, 'pattern', 'validation_invalid_regex'],
    [{ pattern: 1 }, 'pattern', 'validation_invalid_value'],
    [{ autogeneratePattern: '[' }, 'autogeneratePattern', 'validation_invalid_regex'],
    [{ autogeneratePattern: 'a\\bb' }, 'autogeneratePattern', 'validation_invalid_autogenerate_pattern'],
    [{ autogeneratePattern: '((a{100}){100})' }, 'autogeneratePattern', 'validation_invalid_regex'],
    [{ autogeneratePattern: '(((((a*)*)*)*)*)*' }, 'autogeneratePattern', 'validation_invalid_autogenerate_pattern'],
    [{ autogeneratePattern: '[a-z]{3}', pattern: '(' }, 'pattern', 'validation_invalid_regex'],
    [{ autogeneratePattern: '[a-z]{3}', min: 5 }, 'autogeneratePattern', 'validation_invalid_autogenerate_pattern_value'],
    [{ autogeneratePattern: '[a-z]+', max: 6 }, 'autogeneratePattern', 'validation_invalid_autogenerate_pattern_value'],
    [{ autogeneratePattern: '[a-z]{3}', pattern: '^[0-9]+$' }, 'autogeneratePattern', 'validation_invalid_autogenerate_pattern_value'],
    [{ autogeneratePattern: 'a?', required: true }, 'autogeneratePattern', 'validation_invalid_autogenerate_pattern_value'],
    [{ required: 'yes' }, 'required', 'validation_invalid_value'],
    [{ primaryKey: true, required: true, pattern: 'x', name: 'key' }, 'name', 'validation_in_invalid'],
    [{ primaryKey: true, required: true, name: 'id' }, 'pattern', 'validation_required'],
    [{ primaryKey: true, pattern: 'x', name: 'id' }, 'required', 'validation_required'],
    [{ primaryKey: true, required: true, pattern: 'x', name: 'id', hidden: true }, 'hidden', 'validation_empty'],
  ]; // prettier-ignore
  for (const [raw, name, code] of cases) {
    const problems: unknown[] = [];
    const problemsOf = {
      add: (at: string, error: object) => void problems.push([at, 'code' in error && error.code]),
    };
    assert.equal(
      decodeField({ name: 'value', type: 'text', ...raw }, problemsOf),
      undefined,
      JSON.stringify(raw),
    );
    assert.deepEqual(problems, [[name, code]], JSON.stringify(raw));
  }
});

test('a definition is always judged alike, so that a stored one can be read again', () => {
  const raw = { name: 'value', type: 'text', autogeneratePattern: '[a-z]{1,200}', min: 2 };
  const verdicts = Array.from({ length: 20 }, () => decodeField(raw, { add: () => undefined }) === undefined);
  assert.deepEqual(new Set(verdicts), new Set([true]));
});

test('equal options with a generator are judged once and compiled once', () => {
  const raw = { autogeneratePattern: '[a-z]{7}', max: 9 };
  assert.equal(decode(raw), decode(raw));
  assert.notEqual(decode(raw), decode({ ...raw, max: 8 }));
});

test('cached options of one field do not skip the check of another', () => {
  const raw = {
    type: 'text',
    primaryKey: true,
    required: true,
    pattern: '^x+$',
    autogeneratePattern: 'x{3}',
  };
  const ignored = { add: () => undefined };
  assert.notEqual(decodeField({ ...raw, name: 'id' }, ignored), undefined);
  assert.equal(decodeField({ ...raw, name: 'key' }, ignored), undefined);
});
