import { crc32 } from 'node:zlib';
import { assert } from '../base/assert.ts';
import type { FieldError } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { fieldError, invalidValue } from './field-error.ts';
import type { ColumnKind, FieldOptions, FieldTypeName, Problems, RawOptions } from './field-type.ts';
import { fieldType, fieldTypes } from './field-types.ts';
import { optionReader } from './option-reader.ts';

/**
 * A field of a collection's definition: the name of its type, what all fields have, and the complete options that the type's
 * `decodeOptions` made. Fields are never changed: what is compiled from options is kept by their identity.
 */
export interface Field {
  readonly id: string;
  readonly name: string;
  readonly type: FieldTypeName;
  readonly system: boolean;
  readonly hidden: boolean;
  readonly presentable: boolean;
  readonly help: string;
  readonly options: FieldOptions;
}

const nameLengthMax = 100;
const idLengthMax = 100;
const helpLengthMax = 300;
const RESERVED_NAMES = /^(?:null|true|false|_rowid_)$/i;
const ANSWER_NAMES: ReadonlySet<string> = new Set(['collectionId', 'collectionName', 'expand']);

/** Decodes a definition as a client sent it or as it was stored; undefined when there was any problem. */
export function decodeField(raw: unknown, problems: Problems): Field | undefined {
  if (!isJsonObject(raw)) {
    problems.add('type', invalidValue('A field must be an object.'));
    return undefined;
  }
  let isRefused = false;
  const field = decodeMembers(raw, {
    add: (name, error) => {
      isRefused = true;
      problems.add(name, error);
    },
  });
  return isRefused ? undefined : field;
}

/** Returns how the values of a field are stored, compared and sorted; undefined where they are not in its collection's table. */
export function fieldColumn(field: Field): ColumnKind | undefined {
  return isTokenKey(field) ? undefined : fieldType(field).column(field.options);
}

/**
 * Whether it is an account's part of the key that signs its tokens. The definition makes it a text, but it is stored among the
 * secrets, as a password is.
 */
function isTokenKey({ name, system }: Field): boolean {
  return system && name === 'tokenKey';
}

export function hasColumn(field: Field): boolean {
  return fieldColumn(field) !== undefined;
}

/**
 * Returns the definition as the collections API shows it: one object, options beside the common members, keys in bytewise order.
 */
export function fieldToJson(field: Field): string {
  const { options, ...common } = field;
  const members = Object.entries({ ...options, ...common }).filter(
    ([name]) => name !== 'help' || field.type !== 'autodate',
  );
  // All names are ASCII, so the order of UTF-16 units is the order of bytes.
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
}

/** Returns the `id` that every collection starts with. */
export function idField(): Field {
  return ownField({
    name: 'id',
    type: 'text',
    system: true,
    required: true,
    primaryKey: true,
    min: 15,
    max: 15,
    pattern: '^[a-z0-9]+$',
    autogeneratePattern: '[a-z0-9]{15}',
  });
}

export function createdField(): Field {
  return ownField({ name: 'created', type: 'autodate', onCreate: true });
}

export function updatedField(): Field {
  return ownField({ name: 'updated', type: 'autodate', onCreate: true, onUpdate: true });
}

/** Returns a field that the service itself defines. */
export function ownField(raw: RawOptions): Field {
  const field = decodeField(raw, {
    add: (name, error) => assert(false, `a built-in field is invalid: ${name} ${JSON.stringify(error)}`),
  });
  assert(field !== undefined, 'a built-in field is valid');
  return field;
}

function decodeMembers(raw: RawOptions, problems: Problems): Field | undefined {
  const read = optionReader(raw, problems);
  const name = read.text('name');
  checkName(name, problems);
  const typeName = Object.hasOwn(raw, 'type') ? raw['type'] : undefined;
  const fieldType = typeof typeName === 'string' ? fieldTypes.get(typeName) : undefined;
  if (fieldType === undefined) {
    problems.add('type', unknownType(typeName));
    return undefined;
  }
  const field: Field = {
    id: read.text('id') || defaultId(fieldType.type, name),
    name,
    type: fieldType.type,
    system: read.flag('system'),
    hidden: read.flag('hidden'),
    presentable: read.flag('presentable'),
    help: fieldType.type === 'autodate' ? '' : read.text('help'),
    options: fieldType.decodeOptions(raw, problems),
  };
  if (field.id.length > idLengthMax)
    problems.add('id', fieldError('validation_length_out_of_range', { min: 1, max: idLengthMax }));
  // A text has at least half as many code points as UTF-16 units: a long one is not taken apart.
  if (field.help.length > 2 * helpLengthMax || Array.from(field.help).length > helpLengthMax)
    problems.add('help', fieldError('validation_length_too_long', { min: 0, max: helpLengthMax }));
  return field;
}

function checkName(name: string, problems: Problems): void {
  if (name === '') problems.add('name', fieldError('validation_required'));
  else if (name.length > nameLengthMax)
    problems.add('name', fieldError('validation_length_out_of_range', { min: 1, max: nameLengthMax }));
  // ASCII only: without the u flag \w has no other letters.
  else if (!/^\w+$/.test(name)) problems.add('name', fieldError('validation_match_invalid'));
  else if (RESERVED_NAMES.test(name) || ANSWER_NAMES.has(name))
    problems.add('name', fieldError('validation_not_in_invalid'));
  // `posts_via_author` is a back relation in filters and expands.
  else if (name.toLowerCase().includes('_via_')) problems.add('name', fieldError('validation_found_via'));
}

function unknownType(typeName: unknown): FieldError {
  if (typeName === undefined || typeName === null || typeName === '')
    return fieldError('validation_required');
  return {
    code: 'validation_in_invalid',
    message: `Unknown field type; known are ${[...fieldTypes.keys()].join(', ')}.`,
  };
}

/** Returns the id that the reference generates for a field, so that definitions without ids match its own. */
function defaultId(type: FieldTypeName, name: string): string {
  return `${type}${crc32(name)}`;
}

/** Returns the fields of every auth collection, with the options that a definition need not set (http-api section 9). */
export function accountFields(): readonly Field[] {
  return [
    ownField({ name: 'password', type: 'password', system: true, hidden: true, required: true, min: 8 }),
    ownField({
      name: 'tokenKey',
      type: 'text',
      system: true,
      hidden: true,
      required: true,
      min: 30,
      max: 60,
      autogeneratePattern: '[a-zA-Z0-9]{50}',
    }),
    ownField({ name: 'email', type: 'email', system: true, required: true }),
    ownField({ name: 'emailVisibility', type: 'bool', system: true }),
    ownField({ name: 'verified', type: 'bool', system: true }),
  ];
}

/** Whether a caller may write the field. Only superusers may write hidden ones, except for an account's own password. */
export function mayWriteField(field: Field, isSuperuser: boolean): boolean {
  return !field.hidden || isSuperuser || isOwnPassword(field);
}

function isOwnPassword({ system, name, type }: Field): boolean {
  return system && type === 'password' && name === 'password';
}
