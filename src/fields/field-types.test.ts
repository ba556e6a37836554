import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { makeField } from '../../test/support/make-field.ts';
import type { RawOptions, StoredValue } from './field-type.ts';
import { fieldTypes } from './field-types.ts';

const longText = 'x'.repeat(5001);
const epoch = '1970-01-01 00:00:00.000Z';
const nowhere = '{"lon":0,"lat":0}';

/** What a client may send, and per type what is stored, the code it is refused with, and the JSON text. */
/** A text has no exponents. */
const digits = `1${'0'.repeat(308)}`;
const inputs: readonly unknown[] = [null, true, false, 0, 5, 1.5, -0, NaN, Infinity, 1e308, '', 'abc', '5', '1e400', 'NaN', [], ['a', 'b'], {}, { toString: 1 }, longText]; // prettier-ignore

// prettier-ignore

test('each type normalises each kind of value as documented', () => {
  const expected: readonly (readonly [RawOptions, readonly StoredValue[]])[] = [
    [{ type: 'text' }, ['', 'true', 'false', '0', '5', '1.5', '0', 'NaN', 'Infinity', digits, '', 'abc', '5', '1e400', 'NaN', null, null, null, null, longText]],
    [{ type: 'number' }, [0, 1, 0, 0, 5, 1.5, 0, NaN, Infinity, 1e308, 0, NaN, 5, Infinity, NaN, NaN, NaN, NaN, NaN, NaN]],
    [{ type: 'bool' }, [0, 1, 0, 0, 1, 1, 0, null, 1, 1, 0, null, null, null, null, null, null, null, null, null]],
    [{ type: 'date' }, ['', null, null, epoch, '1970-01-01 00:00:05.000Z', '1970-01-01 00:00:01.500Z', epoch, null, null, null, '', null, null, null, null, null, null, null, null, null]],
    [{ type: 'autodate', onCreate: true }, ['', null, null, epoch, '1970-01-01 00:00:05.000Z', '1970-01-01 00:00:01.500Z', epoch, null, null, null, '', null, null, null, null, null, null, null, null, null]],
    [{ type: 'select', values: ['a'] }, ['', 'true', 'false', '0', '5', '1.5', '0', 'NaN', 'Infinity', digits, '', 'abc', '5', '1e400', 'NaN', '', 'b', null, null, longText]],
    [{ type: 'select', values: ['a', 'b'], maxSelect: 2 }, ['[]', '["true"]', '["false"]', '["0"]', '["5"]', '["1.5"]', '["0"]', '["NaN"]', '["Infinity"]', `["${digits}"]`, '[]', '["abc"]', '["5"]', '["1e400"]', '["NaN"]', '[]', '["a","b"]', null, null, `["${longText}"]`]],
    [{ type: 'geoPoint' }, [nowhere, '', '', '', '', '', '', '', '', '', nowhere, '', '', '', '', '', '', nowhere, nowhere, '']],
    [{ type: 'editor' }, ['', 'true', 'false', '0', '5', '1.5', '0', 'NaN', 'Infinity', digits, '', 'abc', '5', '1e400', 'NaN', null, null, null, null, longText]],
    [{ type: 'json' }, [null, 'true', 'false', '0', '5', '1.5', '0', '', '', '1e+308', '""', '"abc"', '5', '', '"NaN"', '[]', '["a","b"]', '{}', '{"toString":1}', `"${longText}"`]],
  ]; // prettier-ignore
  for (const [raw, values] of expected) {
    const field = makeField(raw);
    for (const [index, input] of inputs.entries())
      assert.ok(
        Object.is(field.normalise(input), values[index]),
        `${String(raw['type'])} of ${JSON.stringify(input)?.slice(0, 40)} is ${JSON.stringify(field.normalise(input))?.slice(0, 40)}`,
      );
  }
  assert.equal(makeField({ type: 'email' }).normalise(5), '5');
  assert.equal(makeField({ type: 'url' }).normalise({}), null);
});

test('no type ever throws, and what is accepted has a JSON text', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;
  const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown; // JSON.parse gives any
  const strange: readonly unknown[] = [undefined, () => 1, Symbol('x'), 10n, cyclic, deep, Object.create(null), new Date(NaN), [[[]]], '\0', '\ud800', ['\0'], 'x'.repeat(2_000_000)];
  const stored: readonly StoredValue[] = [null, 0, 1, 2, NaN, Infinity, '', 'x', '[', '["a"]', '[1]'];
  for (const type of fieldTypes.keys()) {
    const field = makeField({ type, values: ['a'], collectionId: 'c', maxSelect: 1, onCreate: true });
    for (const value of [...inputs, ...strange]) {
      const normalised = field.normalise(value);
      if (field.check(normalised) === undefined) JSON.parse(field.toJson(normalised));
    }
    for (const value of stored) if (field.check(value) === undefined) JSON.parse(field.toJson(value));
    assert.equal(field.check(field.zero), undefined, `${type}: zero is accepted unless required`);
  }
  fc.assert(
    fc.property(fc.constantFrom(...fieldTypes.keys()), fc.anything({ withBigInt: true, withDate: true, withMap: true }), (type, value) => {
      const field = makeField({ type, values: ['a', 'b'], collectionId: 'c', maxSelect: 2, onCreate: true });
      const normalised = field.normalise(value);
      if (field.check(normalised) === undefined) JSON.parse(field.toJson(normalised));
    }),
    { numRuns: 500 },
  );
}); // prettier-ignore

// prettier-ignore

test('a required value must not be empty', () => {
  const empties: readonly (readonly [RawOptions, readonly unknown[]])[] = [
    [{ type: 'text' }, [null, '']],
    [{ type: 'number' }, [null, 0, '', ' ', -0]],
    [{ type: 'bool' }, [null, '', false, 'F']],
    [{ type: 'email' }, ['', null]],
    [{ type: 'url' }, ['', null]],
    [{ type: 'date' }, ['', ' ', null, '0001-01-01T00:00:00Z']],
    [{ type: 'select', values: ['a'] }, ['', null, [], ['']]],
    [{ type: 'select', values: ['a', 'b'], maxSelect: 2 }, ['', null, [], ['']]],
    [{ type: 'editor' }, ['', null]],
    [{ type: 'file' }, ['', null, []]],
    [{ type: 'geoPoint' }, [null, '', {}, 'null', { lon: 0, lat: -0 }, '{"lat":0}']],
    [{ type: 'json' }, [null, '', [], {}, 'null', '[]', '{ }', '""']],
  ];
  for (const [raw, values] of empties) {
    const required = makeField({ ...raw, required: true });
    const optional = makeField(raw);
    for (const value of values) {
      const name = `${String(raw['type'])} ${JSON.stringify(value)}`;
      assert.deepEqual(
        required.check(required.normalise(value)),
        { code: 'validation_required', message: 'Cannot be blank.' },
        name,
      );
      assert.equal(optional.code(value), undefined, name);
    }
  }
});

test('zero skips the bounds of a number; other errors contain the bound', () => {
  const field = makeField({ type: 'number', min: 3, max: 5.5 });
  assert.equal(field.code(0), undefined);
  assert.equal(field.code(3), undefined);
  assert.deepEqual(field.check(2), {
    code: 'validation_min_number_constraint',
    message: 'Must be greater or equal than 3.',
    params: { min: 3 },
  });
  assert.deepEqual(field.check(6), {
    code: 'validation_max_number_constraint',
    message: 'Must be less or equal than 5.5.',
    params: { max: 5.5 },
  });
  assert.equal(
    makeField({ type: 'number', onlyInt: true, min: 3 }).code(1.5),
    'validation_only_int_constraint',
  );
  assert.equal(
    makeField({ type: 'number', max: 0 }).code(1),
    'validation_max_number_constraint',
    'a bound of 0 is a bound',
  );
});

test('booleans are read from the documented texts only', () => {
  const field = makeField({ type: 'bool' });
  for (const text of ['1', 't', 'T', 'true', 'TRUE', 'True']) assert.equal(field.normalise(text), 1, text);
  for (const text of ['0', 'f', 'F', 'false', 'FALSE', 'False']) assert.equal(field.normalise(text), 0, text);
  assert.equal(field.toJson(1), 'true');
  assert.equal(field.toJson(0), 'false');
  assert.equal(field.check(2)?.code, 'validation_invalid_value');
}); // prettier-ignore

// prettier-ignore

test('e-mail addresses are dot-atoms at a domain', () => {
  const field = makeField({ type: 'email' });
  const good = ['a@b.co', 'a.b+c@sub.example.com', "o'neil!#$%&*/=?^_`{|}~-@example.com", 'jürgen@bücher.example', 'A@EXAMPLE.COM', `${'a'.repeat(64)}@example.com`]; // prettier-ignore
  for (const value of good) assert.equal(field.code(value), undefined, value);
  const bad = [
    'a', '@', 'a@', '@b.co', 'a@b', 'a@@b.co', 'a b@c.de', 'a@b .co', '.a@b.co', 'a.@b.co', 'a..b@c.de', 'a@.co', 'a@b..co', 'a@b.co.',
    'a@-b.co', 'a@b-.co', 'a@b.1', 'a@[127.0.0.1]', 'a@127.0.0.1', '"a b"@c.de', 'a(comment)@b.co', 'a@b.co\r\nBcc: x@y.zz', 'a\r\n@b.co', 'a@b.co\n',
    '\u202ea@b.co', 'a\u00a0b@c.de', 'a@b\0.co', `${'a'.repeat(250)}@b.co`, `a@${'b'.repeat(64)}.co`, '<a@b.co>', 'a,b@c.de', 'x'.repeat(1_000_000),
  ]; // prettier-ignore
  for (const value of bad)
    assert.deepEqual(
      field.check(value),
      { code: 'validation_is_email', message: 'Must be a valid email address.' },
      JSON.stringify(value.slice(0, 60)),
    );
});

test('an address of plain letters is judged as one with other letters', () => {
  const field = makeField({ type: 'email' });
  const characters = ['a', '1', '_', '-', '.', '@'];
  let texts = [''];
  let good = 0;
  for (let length = 1; length <= 6; length += 1) {
    texts = texts.flatMap((text) => characters.map((character) => text + character));
    for (const text of texts) {
      const isGood = field.check(text) === undefined;
      if (isGood) good += 1;
      // Where the text begins with an atom, a letter more changes nothing.
      if (/^[^.@]/.test(text)) assert.equal(field.check(`ü${text}`) === undefined, isGood, text);
      else assert.ok(!isGood, text);
    }
  }
  assert.equal(good, 72);
});

test('only http and https URLs that all parsers read alike are accepted', () => {
  const field = makeField({ type: 'url' });
  const good = ['http://example.com', 'HTTPS://example.com/a?b=c#d', 'http://localhost:3000/x', 'https://bücher.example/ä', 'http://[2001:db8::1]/', 'https://a.b.c.example.com/%20']; // prettier-ignore
  for (const value of good) assert.equal(field.code(value), undefined, value);
  const bad = [
    'example.com', '//example.com', 'javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'ftp://example.com', 'ws://example.com',
    'http:example.com', 'http:/example.com', 'http:///example.com', 'http:\\\\example.com', 'http://good.example\\@evil.example', 'http://',
    'http://user:pass@example.com', 'http://user@example.com', ' http://example.com', 'http://example.com ', 'http://exa mple.com', 'java\nscript:x',
    'http://example.com/\n', 'http://example.com/\0', 'http://example.com/<b>', 'http://example.com:99999', 'http://[::1', `http://example.com/${'x'.repeat(10_000)}`,
  ]; // prettier-ignore
  for (const value of bad)
    assert.deepEqual(field.check(value), { code: 'validation_invalid_url', message: 'Must be a valid url.' }, value.slice(0, 60));
}); // prettier-ignore

// prettier-ignore

test('domains may be listed as the only ones or as exceptions, whatever their letter case', () => {
  const cases: readonly (readonly [RawOptions, string, string | undefined])[] = [
    [{ type: 'email', onlyDomains: ['example.com'] }, 'a@Example.COM', undefined],
    [{ type: 'email', onlyDomains: ['example.com'] }, 'a@sub.example.com', 'validation_email_domain_not_allowed'],
    [{ type: 'email', exceptDomains: ['example.com'] }, 'a@EXAMPLE.com', 'validation_email_domain_not_allowed'],
    [{ type: 'email', exceptDomains: ['example.com'] }, 'a@example.org', undefined],
    [{ type: 'url', onlyDomains: ['example.com'] }, 'https://example.com:8443/x', undefined],
    [{ type: 'url', onlyDomains: ['example.com'] }, 'https://evil.example/?example.com', 'validation_url_domain_not_allowed'],
    [{ type: 'url', exceptDomains: ['EXAMPLE.com'] }, 'https://example.com./', 'validation_url_domain_not_allowed'],
    [{ type: 'url', exceptDomains: ['example.com'] }, 'https://ｅxample.com/', 'validation_url_domain_not_allowed'],
  ]; // prettier-ignore
  for (const [raw, value, code] of cases)
    assert.equal(makeField(raw).code(value), code, `${JSON.stringify(raw)} ${value}`);
});

test('dates keep within their bounds, which may have any layout', () => {
  const field = makeField({ type: 'date', min: '2026-01-01', max: '31 Dec 2026' });
  assert.equal(field.code('2026-01-01 00:00:00.000Z'), undefined);
  assert.deepEqual(field.check(field.normalise('2025-12-31T23:59:59Z')), {
    code: 'validation_min_greater_equal_than_required',
    message: 'Must be no less than 2026-01-01 00:00:00.000Z.',
    params: { threshold: '2026-01-01 00:00:00.000Z' },
  });
  assert.deepEqual(field.check(field.normalise('2027-01-01')), {
    code: 'validation_max_less_equal_than_required',
    message: 'Must be no greater than 2026-12-31 00:00:00.000Z.',
    params: { threshold: '2026-12-31 00:00:00.000Z' },
  });
});

test('an autodate is stamped at the moments it was made for', () => {
  const now = '2026-11-20 09:35:20.114Z';
  const stamp = (moment: 'create' | 'update', options: RawOptions) =>
    fieldTypes.get('autodate')?.stamp?.(moment, now, options);
  assert.equal(stamp('create', { onCreate: true, onUpdate: false }), now);
  assert.equal(stamp('update', { onCreate: true, onUpdate: false }), undefined);
  assert.equal(stamp('create', { onCreate: false, onUpdate: true }), undefined);
  assert.equal(stamp('update', { onCreate: false, onUpdate: true }), now);
});

test('a single select keeps the last value, a multiple one each value once', () => {
  const single = makeField({ type: 'select', values: ['a', 'b', '[x'] });
  const several = makeField({ type: 'select', values: ['a', 'b', '[x'], maxSelect: 2 });
  assert.equal(single.normalise(['a', 'b', '']), 'b');
  assert.equal(single.normalise('["a","b"]'), 'b');
  assert.equal(single.normalise('[x'), '[x');
  assert.equal(several.normalise(['b', 'a', 'b', '', null]), '["b","a"]');
  assert.equal(several.normalise('["a","b"]'), '["a","b"]');
  assert.equal(several.normalise('["a",1]'), '["[\\"a\\",1]"]', 'only an array of texts is split');
  assert.equal(several.toJson('["a"]'), '["a"]');
  assert.equal(several.toJson(''), '[]');
  assert.deepEqual(single.check('c'), {
    code: 'validation_invalid_value',
    message: 'Invalid value c.',
    params: { value: 'c' },
  });
  assert.equal(single.check('$&')?.message, 'Invalid value $&.');
  assert.deepEqual(several.check(several.normalise(['a', 'b', 'c'])), {
    code: 'validation_too_many_values',
    message: 'Select no more than 2.',
    params: { maxSelect: 2 },
  });
  assert.equal(several.code(['a', 'c']), 'validation_invalid_value');
  assert.equal(
    several.code(Array.from({ length: 10_000 }, (_, index) => index)),
    'validation_too_many_values',
  );
  assert.equal(several.check('["a"')?.code, 'validation_unsupported_value_type');
});

test('json is stored as compact text', () => {
  const field = makeField({ type: 'json' });
  const stored: readonly (readonly [unknown, StoredValue])[] = [
    [{ b: 1, a: [1.0, 1e21, null] }, '{"b":1,"a":[1,1e+21,null]}'],
    ['{"b": 1, "2": 2, "1": 3}', '{"b":1,"2":2,"1":3}'],
    ['{"a":1,"a":2}', '{"a":2}'],
    ['true', 'true'],
    ['null', null],
    ['-1.50', '-1.5'],
    ['"x"', '"x"'],
    ['', '""'],
    ['abc', '"abc"'],
    [' {}', '" {}"'],
    ['{bad', '"{bad"'],
    ['-', '"-"'],
    ['1 2', '"1 2"'],
    ['nullx', '"nullx"'],
    [JSON.parse('{"__proto__":{"x":1}}'), '{"__proto__":{"x":1}}'],
    [1e20, '100000000000000000000'],
    ['<&>\u2028', '"<&>\u2028"'],
  ];
  for (const [value, text] of stored) assert.equal(field.normalise(value), text, JSON.stringify(value));
  assert.equal(field.toJson(null), 'null');
  assert.equal(field.toJson('{"b":1,"a":2}'), '{"b":1,"a":2}');
  for (const value of ['12345678901234567890', '1e400', '["\\u0000"]', '["\\ud800"]', '['.repeat(65) + ']'.repeat(65), ['\0'], { '\ud800': 1 }, [NaN]])
    assert.deepEqual(field.check(field.normalise(value)), { code: 'validation_invalid_json', message: 'Must be a valid json value.' }, JSON.stringify(value));
}); // prettier-ignore

// prettier-ignore

test('the size of json is counted in bytes of the stored text', () => {
  const field = makeField({ type: 'json', maxSize: 5 });
  assert.equal(field.code('äx'), undefined);
  assert.deepEqual(field.check(field.normalise('ää')), {
    code: 'validation_json_size_limit',
    message: 'The maximum allowed JSON size is 5 bytes.',
    params: { maxSize: 5 },
  });
  assert.equal(makeField({ type: 'json' }).code('x'.repeat(1024 * 1024 - 2)), undefined);
  assert.equal(makeField({ type: 'json' }).code('x'.repeat(1024 * 1024 - 1)), 'validation_json_size_limit');
  assert.equal(makeField({ type: 'json', maxSize: 3 }).code('[1 ,  2]'), 'validation_json_size_limit');
});

test("the size of an editor's text is counted in bytes", () => {
  const field = makeField({ type: 'editor', maxSize: 5 });
  assert.equal(field.code('<b>ä'), undefined);
  assert.deepEqual(field.check('<b>ä!'), {
    code: 'validation_content_size_limit',
    message: 'The maximum allowed content size is 5 bytes.',
    params: { maxSize: 5 },
  });
  assert.equal(makeField({ type: 'editor' }).code('x'.repeat(5 * 1024 * 1024)), undefined);
  assert.equal(
    makeField({ type: 'editor' }).code('x'.repeat(5 * 1024 * 1024 + 1)),
    'validation_content_size_limit',
  );
  assert.equal(makeField({ type: 'editor' }).normalise('<script>\r\n '), '<script>\r\n ');
});

test('a point is read from an object or its JSON text, and stored in one form', () => {
  const field = makeField({ type: 'geoPoint' });
  const stored: readonly (readonly [unknown, StoredValue])[] = [
    [{ lat: 1.5, lon: -2 }, '{"lon":-2,"lat":1.5}'],
    ['{ "lat": 1.50, "lon": -2, "x": 1 }', '{"lon":-2,"lat":1.5}'],
    [{ lat: 3 }, '{"lon":0,"lat":3}'],
    [{ lon: -0, lat: 1e-7 }, '{"lon":0,"lat":1e-7}'],
  ];
  for (const [value, text] of stored) assert.equal(field.normalise(value), text, JSON.stringify(value));
  for (const value of [5, true, [1, 2], 'here', '[1,2]', '{', { lon: '1', lat: 2 }, { lon: null }, '{"lon":1e400}', { lat: NaN }])
    assert.equal(field.code(value), 'validation_unsupported_value_type', JSON.stringify(value));
  assert.equal(field.toJson('{"lon":-2,"lat":1.5}'), '{"lon":-2,"lat":1.5}');
  assert.equal(field.zero, nowhere);
}); // prettier-ignore

// prettier-ignore

test('a point lies on earth, and its latitude is checked first', () => {
  const field = makeField({ type: 'geoPoint' });
  for (const [lon, lat] of [[180, 90], [-180, -90]]) assert.equal(field.code({ lon, lat }), undefined);
  for (const lat of [90.000001, -91]) assert.deepEqual(field.check(`{"lon":200,"lat":${lat}}`), {
    code: 'validation_invalid_latitude', message: 'Latitude must be between -90 and 90 degrees.',
  });
  for (const lon of [180.000001, -181]) assert.deepEqual(field.check(`{"lon":${lon},"lat":0}`), {
    code: 'validation_invalid_longitude', message: 'Longitude must be between -180 and 180 degrees.',
  });
}); // prettier-ignore

// prettier-ignore

test('a file is named only where it is already, and what is named then can be left out', () => {
  const field = makeField({ type: 'file', maxSelect: 2 });
  const code = (value: unknown, before?: StoredValue) => field.check(field.normalise(value), before)?.code;
  assert.deepEqual(field.check('["a.png","b.png"]'), {
    code: 'validation_invalid_file',
    message: 'Invalid new files: a.png, b.png.',
    params: { invalidFiles: ['a.png', 'b.png'] },
  });
  const before = '["a.png","b.png","c.png"]';
  assert.equal(code(['b.png', 'a.png'], before), undefined);
  assert.equal(code('["b.png"]', before), undefined);
  assert.equal(code([], before), undefined);
  assert.equal(code(['b.png', 'd.png'], before), 'validation_invalid_file');
  assert.deepEqual(field.check(before, before), {
    code: 'validation_too_many_files',
    message: 'The maximum allowed files is 2.',
    params: { maxSelect: 2 },
  });
});
