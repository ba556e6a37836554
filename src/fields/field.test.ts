import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldError, FieldErrors } from '../base/errors.ts';
import {
  createdField,
  decodeField,
  type Field,
  fieldColumn,
  fieldToJson,
  idField,
  updatedField,
} from './field.ts';
import { fieldTypes } from './field-types.ts';

function decode(raw: unknown): {
  readonly field: Field | undefined;
  readonly problems: Map<string, FieldError | FieldErrors>;
} {
  const problems = new Map<string, FieldError | FieldErrors>();
  const field = decodeField(raw, { add: (name, error) => problems.has(name) || problems.set(name, error) });
  return { field, problems };
}

function made(raw: unknown): Field {
  const { field, problems } = decode(raw);
  assert.ok(field, JSON.stringify([...problems]));
  return field;
}

test('our own fields have the ids of the reference', () => {
  assert.equal(
    fieldToJson(idField()),
    '{"autogeneratePattern":"[a-z0-9]{15}","help":"","hidden":false,"id":"text3208210256","max":15,"min":15,"name":"id",' +
      '"pattern":"^[a-z0-9]+$","presentable":false,"primaryKey":true,"required":true,"system":true,"type":"text"}',
  );
  assert.equal(
    fieldToJson(createdField()),
    '{"hidden":false,"id":"autodate2990389176","name":"created","onCreate":true,"onUpdate":false,"presentable":false,"system":false,"type":"autodate"}',
  );
  assert.equal(
    fieldToJson(updatedField()),
    '{"hidden":false,"id":"autodate3332085495","name":"updated","onCreate":true,"onUpdate":true,"presentable":false,"system":false,"type":"autodate"}',
  );
});

test('a definition that was shown is read again as the same field', () => {
  const definitions = [
    { type: 'text', name: 'title', pattern: '^a', help: 'What it is.', hidden: true, presentable: true },
    { type: 'number', name: 'count', min: 0, max: 10, onlyInt: true },
    { type: 'bool', name: 'done', required: true },
    { type: 'email', name: 'mail', onlyDomains: ['example.com'] },
    { type: 'url', name: 'link', exceptDomains: ['example.com'] },
    { type: 'editor', name: 'body', maxSize: 100, convertURLs: true },
    { type: 'date', name: 'due', min: '2026-01-01' },
    { type: 'autodate', name: 'seen', onUpdate: true },
    { type: 'select', name: 'tags', values: ['a', 'b'], maxSelect: 2 },
    { type: 'file', name: 'pictures', thumbs: ['100x50t'], mimeTypes: ['image/png'], protected: true },
    { type: 'relation', name: 'authors', collectionId: 'c', minSelect: 1, maxSelect: 2 },
    { type: 'json', name: 'extra', maxSize: 100, id: 'mine' },
    { type: 'geoPoint', name: 'place', required: true },
    { type: 'password', name: 'pin', min: 4, max: 8, pattern: '^[0-9]+$', cost: 12 },
  ];
  assert.deepEqual(definitions.map((raw) => raw.type), [...fieldTypes.keys()], 'every type is here');
  for (const raw of definitions) {
    const field = made(raw);
    const text = fieldToJson(field);
    const keys = Object.keys(JSON.parse(text) as object); // JSON.parse gives any
    assert.deepEqual(keys, keys.toSorted(), 'keys are sorted');
    assert.deepEqual(made(JSON.parse(text)), field);
  }
}); // prettier-ignore

// prettier-ignore

test('missing options have their defaults', () => {
  const shown = (raw: object) => fieldToJson(made({ name: 'f', id: 'i', ...raw }));
  assert.equal(
    shown({ type: 'number', min: null }),
    '{"help":"","hidden":false,"id":"i","max":null,"min":null,"name":"f","onlyInt":false,"presentable":false,"required":false,"system":false,"type":"number"}',
  );
  assert.equal(
    shown({ type: 'email', surprise: 1, exceptDomains: null }),
    '{"exceptDomains":[],"help":"","hidden":false,"id":"i","name":"f","onlyDomains":[],"presentable":false,"required":false,"system":false,"type":"email"}',
  );
});

test('the kind of a column compares like its type', () => {
  const kinds = { text: 'text', number: 'number', bool: 'bool', email: 'text', url: 'text', date: 'text', select: 'text', json: 'json' };
  for (const [type, kind] of Object.entries(kinds)) assert.equal(fieldColumn(made({ name: 'f', type, values: ['a', 'b'] })), kind);
  assert.equal(fieldColumn(createdField()), 'text');
  assert.equal(fieldColumn(made({ name: 'f', type: 'select', values: ['a', 'b'], maxSelect: 2 })), 'json');
}); // prettier-ignore

// prettier-ignore

test('names are refused with the reason', () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [undefined, 'validation_required'],
    [null, 'validation_required'],
    ['', 'validation_required'],
    [5, 'validation_invalid_value'],
    ['a'.repeat(101), 'validation_length_out_of_range'],
    ...['a b', 'a-b', 'a.b', 'é', '😀', 'a"b', "a'b", 'a`b', 'a\0', 'a\n', '$a', 'a;--', 'nаme'].map((name) => [name, 'validation_match_invalid'] as const),
    ...['null', 'NULL', 'true', 'False', '_rowid_', '_ROWID_', 'collectionId', 'collectionName', 'expand'].map((name) => [name, 'validation_not_in_invalid'] as const),
    ['posts_via_author', 'validation_found_via'],
    ['posts_VIA_author', 'validation_found_via'],
  ]; // prettier-ignore
  for (const [name, code] of cases) {
    const { field, problems } = decode({ type: 'text', name });
    assert.equal(field, undefined);
    assert.equal(problems.get('name')?.['code'], code, String(name));
  }
  for (const name of [
    'a',
    '_a',
    '1a',
    'select',
    'order',
    'rowid',
    'oid',
    '__proto__',
    'constructor',
    'Expand',
    'a'.repeat(100),
  ])
    assert.equal(made({ type: 'text', name }).name, name);
});

test('unknown types are refused', () => {
  for (const type of ['constructor', '__proto__', 'toString', 'Text', 'nope', 5, {}, ['text']])
    assert.deepEqual(decode({ name: 'f', type }).problems.get('type'), {
      code: 'validation_in_invalid',
      message: `Unknown field type; known are ${[...fieldTypes.keys()].join(', ')}.`,
    });
  assert.deepEqual(decode({ name: 'f' }).problems.get('type'), { code: 'validation_required', message: 'Cannot be blank.' });
  for (const raw of [null, undefined, 5, 'text', true, [], () => 1]) assert.ok(decode(raw).problems.has('type'));
}); // prettier-ignore

// prettier-ignore

test('common members and options are refused under their names', () => {
  const cases: readonly (readonly [object, string, string])[] = [
    [{ type: 'text', help: 'x'.repeat(301) }, 'help', 'validation_length_too_long'],
    [{ type: 'text', help: 5 }, 'help', 'validation_invalid_value'],
    [{ type: 'text', hidden: 'yes' }, 'hidden', 'validation_invalid_value'],
    [{ type: 'text', system: 1 }, 'system', 'validation_invalid_value'],
    [{ type: 'text', presentable: [] }, 'presentable', 'validation_invalid_value'],
    [{ type: 'text', id: 'x'.repeat(101) }, 'id', 'validation_length_out_of_range'],
    [{ type: 'text', id: {} }, 'id', 'validation_invalid_value'],
    [{ type: 'number', min: '1' }, 'min', 'validation_invalid_value'],
    [{ type: 'number', min: 5, max: 4 }, 'max', 'validation_min_number_constraint'],
    [{ type: 'number', min: 1.5, onlyInt: true }, 'min', 'validation_only_int_constraint'],
    [{ type: 'number', max: 1.5, onlyInt: true }, 'max', 'validation_only_int_constraint'],
    [{ type: 'bool', required: 1 }, 'required', 'validation_invalid_value'],
    [{ type: 'date', min: 'soon' }, 'min', 'validation_invalid_value'],
    [{ type: 'date', min: '2026-01-02', max: '2026-01-01' }, 'max', 'validation_min_greater_equal_than_required'],
    [{ type: 'autodate' }, 'onCreate', 'validation_required'],
    [{ type: 'autodate' }, 'onUpdate', 'validation_required'],
    [{ type: 'select' }, 'values', 'validation_required'],
    [{ type: 'select', values: [] }, 'values', 'validation_required'],
    [{ type: 'select', values: 'a' }, 'values', 'validation_invalid_value'],
    [{ type: 'select', values: ['a', 1] }, 'values', 'validation_invalid_value'],
    [{ type: 'select', values: ['a', ''] }, 'values', 'validation_invalid_value'],
    [{ type: 'select', values: ['a'], maxSelect: 2 }, 'maxSelect', 'validation_max_less_equal_than_required'],
    [{ type: 'select', values: ['a'], maxSelect: -1 }, 'maxSelect', 'validation_min_greater_equal_than_required'],
    [{ type: 'json', maxSize: -1 }, 'maxSize', 'validation_min_greater_equal_than_required'],
    [{ type: 'json', maxSize: 2 ** 53 }, 'maxSize', 'validation_max_less_equal_than_required'],
    [{ type: 'editor', maxSize: 1.5 }, 'maxSize', 'validation_invalid_value'],
    [{ type: 'editor', convertURLs: 'no' }, 'convertURLs', 'validation_invalid_value'],
    [{ type: 'file', mimeTypes: 'image/png' }, 'mimeTypes', 'validation_invalid_value'],
    [{ type: 'file', maxSelect: -1 }, 'maxSelect', 'validation_min_greater_equal_than_required'],
    [{ type: 'password', min: 513 }, 'min', 'validation_max_less_equal_than_required'],
    [{ type: 'password', max: 513 }, 'max', 'validation_max_less_equal_than_required'],
    [{ type: 'password', min: 9, max: 8 }, 'max', 'validation_min_greater_equal_than_required'],
    [{ type: 'password', cost: 3 }, 'cost', 'validation_min_greater_equal_than_required'],
    [{ type: 'password', cost: 32 }, 'cost', 'validation_max_less_equal_than_required'],
    [{ type: 'password', pattern: '(?=a)' }, 'pattern', 'validation_invalid_regex'],
    [{ type: 'geoPoint', required: 'no' }, 'required', 'validation_invalid_value'],
    [{ type: 'email', onlyDomains: ['a.b'], exceptDomains: ['c.d'] }, 'onlyDomains', 'validation_empty'],
    [{ type: 'url', onlyDomains: ['a.b'], exceptDomains: ['c.d'] }, 'exceptDomains', 'validation_empty'],
  ]; // prettier-ignore
  for (const [raw, name, code] of cases) {
    const { field, problems } = decode({ name: 'f', ...raw });
    assert.equal(field, undefined, JSON.stringify(raw));
    assert.equal(problems.get(name)?.['code'], code, JSON.stringify(raw));
  }
  const domains = decode({ name: 'f', type: 'email', onlyDomains: ['a.b', 'x', 'http://a.b', 'a..b', 'x'.repeat(64) + '.com'] });
  assert.deepEqual(Object.keys(domains.problems.get('onlyDomains') ?? {}), ['1', '2', '3', '4']);
  const thumbs = decode({ name: 'f', type: 'file', thumbs: ['100x50', '0x50f', '100x', 'axb', '1x1x1', '0x0', '00x0t', '100x50z'] });
  assert.deepEqual(Object.keys(thumbs.problems.get('thumbs') ?? {}), ['2', '3', '4', '5', '6', '7']);
  assert.equal(made({ name: 'f', type: 'text', help: '😀'.repeat(300) }).help.length, 600);
}); // prettier-ignore
