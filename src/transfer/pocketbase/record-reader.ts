import { isUtf8 } from 'node:buffer';
import type { Timestamp } from '../../base/timestamp.ts';
import { type Collection, secretName } from '../../collections/collection.ts';
import { type Field, hasColumn } from '../../fields/field.ts';
import { fieldType } from '../../fields/field-types.ts';
import type { StoredValue } from '../../fields/field-type.ts';
import { toText } from '../../fields/option-reader.ts';
import { isSupportedHash } from '../../secrets/password.ts';
import { newTokenKey } from '../../secrets/token.ts';
import type { ForeignValue } from '../../storage/sqlite/foreign-sqlite.ts';
import type { Omissions } from './omissions.ts';

/** A record to store. */
export interface ImportedRecord {
  readonly id: string;
  /** Values of the fields that have a column, in their order. */
  readonly values: readonly StoredValue[];
  /** Secrets, which are stored apart from the record, by name. */
  readonly secrets: readonly (readonly [name: string, value: string])[];
}

export interface RecordReaderOptions {
  /** Columns of the source's table. */
  readonly columns: readonly string[];
  /** The value of autodate fields for which the source has no column. */
  readonly now: Timestamp;
  readonly omissions: Omissions;
}

type Omit = (what: string, why: string) => void;
type Read = (row: readonly ForeignValue[]) => StoredValue;

/**
 * Reads the records of one collection, with values as the current definition has them, whatever type a column held earlier. A value
 * that cannot be stored becomes the empty value of its type. That is reported, as is a record without a usable id.
 */
export class RecordReader {
  /** The columns to read from the source; rows have their values in this order. */
  readonly columns: readonly string[];
  readonly #reads: readonly Read[];
  readonly #secrets: readonly ((row: readonly ForeignValue[]) => readonly [string, string] | undefined)[];
  readonly #idAt: number;
  readonly #readId: (value: ForeignValue) => string | undefined;
  #current = '';

  constructor(collection: Collection, { columns, now, omissions }: RecordReaderOptions) {
    const fields = collection.fields.filter(({ name }) => columns.includes(name));
    this.columns = fields.map(({ name }) => name);
    const omit: Omit = (what, why) =>
      omissions.add({ of: collection.name, what, why, record: this.#current });
    const placeOf = (field: Field): number => this.columns.indexOf(field.name);
    this.#reads = collection.fields
      .filter(hasColumn)
      .map((field) => readerOf(field, { at: placeOf(field), now, omit }));
    this.#secrets = collection.fields
      .filter((field) => !hasColumn(field))
      .map((field) => secretReaderOf(field, placeOf(field), omit));
    this.#idAt = this.columns.indexOf('id');
    this.#readId = idReaderOf(collection, omit);
  }

  /** Returns undefined for a row without a usable id. */
  read(row: readonly ForeignValue[]): ImportedRecord | undefined {
    this.#current = toText(plain(row[this.#idAt] ?? null)).slice(0, 100);
    const id = this.#readId(row[this.#idAt] ?? null);
    if (id === undefined) return undefined;
    const secrets = this.#secrets.map((read) => read(row)).filter((secret) => secret !== undefined);
    return { id, values: this.#reads.map((read) => read(row)), secrets };
  }
}

/** Checks ids without the pattern and length of the definition: those may be newer than the records. */
function idReaderOf(collection: Collection, omit: Omit): (value: ForeignValue) => string | undefined {
  const field = collection.fields.find(({ name }) => name === 'id');
  const options = { ...field?.options, pattern: '', min: 0, max: 0 };
  return (value) => {
    const problem =
      typeof value === 'string' && field !== undefined
        ? (fieldType(field).check(value, options) ?? unreadable(value))
        : { message: 'It is no text.' };
    if (problem === undefined) return String(value);
    omit('a record', `Its id cannot be used: ${problem.message}`);
    return undefined;
  };
}

/** Refuses an id with U+FFFD. That stands for bytes that are not UTF-8, so two such ids could become equal. */
function unreadable(id: string): { readonly message: string } | undefined {
  return id.includes('\uFFFD') ? { message: 'It is no UTF-8.' } : undefined;
}

interface Reading {
  readonly at: number;
  readonly now: Timestamp;
  readonly omit: Omit;
}

function readerOf(field: Field, { at, now, omit }: Reading): Read {
  const zero = fieldType(field).zero(field.options);
  if (at === -1) {
    // Every record here has a value for its autodate fields.
    const missing = field.type === 'autodate' ? now : zero;
    return () => missing;
  }
  const convert = converterOf(field, (why) => omit(field.name, why));
  return (row) => {
    const value = row[at] ?? null;
    if (!(value instanceof Uint8Array)) return value === null ? zero : convert(value);
    if (isUtf8(value)) return convert(textOf(value));
    omit(field.name, 'Its bytes are no UTF-8.');
    return zero;
  };
}

type Plain = string | number | bigint;
type Convert = (value: Plain) => StoredValue;

function converterOf(field: Field, omit: (why: string) => void): Convert {
  switch (field.type) {
    case 'text':
    case 'email':
    case 'url':
    case 'editor':
    case 'password':
      return (value) => storable(typeof value === 'string' ? value : String(value), omit);
    case 'number':
      return (value) => finite(typeof value === 'number' ? value : normalised(field, value), omit);
    case 'date':
    case 'autodate':
      return (value) => date(field, value, omit);
    case 'select':
    case 'file':
    case 'relation':
      return (value) => storableChoice(normalised(field, value), omit);
    case 'json':
      return jsonConverter(field, omit);
    case 'geoPoint':
      return (value) => point(field, value, omit);
    // `bool`, and types that PocketBase does not have.
    default:
      return (value) => truth(normalised(field, value), omit);
  }
}

function normalised(field: Field, value: Plain): StoredValue {
  return fieldType(field).normalise(typeof value === 'bigint' ? Number(value) : value, field.options);
}

/** Removes U+0000, which PostgreSQL cannot store and no request may contain. */
function storable(text: string, omit: (why: string) => void): string {
  if (!text.includes('\0')) return text;
  omit('The character U+0000 is taken out.');
  return text.replaceAll('\0', '');
}

function finite(value: StoredValue, omit: (why: string) => void): StoredValue {
  if (Number.isFinite(value)) return Number(value) + 0;
  omit('It is no finite number.');
  return 0;
}

function truth(value: StoredValue, omit: (why: string) => void): StoredValue {
  if (value !== null) return value;
  omit('It is neither true nor false.');
  return 0;
}

/** The form of nearly every date, with days that every month has. Other days are left to the full parser. */
const wireDate =
  /^(?!0000|0001)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8]) (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

function date(field: Field, value: Plain, omit: (why: string) => void): StoredValue {
  if (typeof value === 'string' && wireDate.test(value)) return value;
  const normalized = typeof value === 'string' ? normalised(field, value) : null;
  if (normalized !== null) return normalized;
  omit('It is no date.');
  return '';
}

/** Finds JSON escapes of characters that no text may contain: lists are stored as JSON. */
const unstorable = /\\u(?:0000|d[89a-f])/;

function storableChoice(stored: StoredValue, omit: (why: string) => void): StoredValue {
  if (typeof stored !== 'string') return stored;
  if (!(unstorable.test(stored) || stored.includes('\0') || !stored.isWellFormed())) return stored;
  if (!stored.isWellFormed()) {
    omit('A value that is no Unicode text is taken out.');
    return '';
  }
  if (!stored.startsWith('[')) return storable(stored, omit);
  // The cast holds: a field's normalise made it, a JSON array of texts.
  const texts = JSON.parse(stored) as readonly string[];
  omit('A value that is no Unicode text is taken out.');
  return JSON.stringify(texts.filter((text) => text.isWellFormed() && !text.includes('\0')));
}

/** Converts JSON of any size: the source has stored it already. */
function jsonConverter(field: Field, omit: (why: string) => void): Convert {
  const options = { ...field.options, maxSize: Number.MAX_SAFE_INTEGER };
  const { normalise } = fieldType(field);
  return (value) => {
    const text = String(value).trim();
    if (text === '') return null;
    // SQLite turns JSON text that looks like a number into one: 1e999 becomes Infinity, which JSON cannot express.
    const isEndless = typeof value === 'number' && !Number.isFinite(value);
    const stored = isEndless ? '' : normalise(text, options);
    if (stored !== '') return stored;
    omit('It holds what no JSON value may: U+0000, half a character, a number beyond 2^53 or 64 levels.');
    return null;
  };
}

function point(field: Field, value: Plain, omit: (why: string) => void): StoredValue {
  const stored = normalised(field, value);
  if (stored !== '') return stored;
  omit('It is no point.');
  return fieldType(field).zero(field.options);
}

function secretReaderOf(
  field: Field,
  at: number,
  omit: Omit,
): (row: readonly ForeignValue[]) => readonly [string, string] | undefined {
  const name = secretName(field);
  const isTokenKey = field.type !== 'password';
  return (row) => {
    const value = at === -1 ? '' : toText(plain(row[at] ?? null));
    if (isTokenKey) return [name, tokenKeyOf(value, omit)];
    if (value !== '' && !isSupportedHash(value)) {
      omit(field.name, 'It is no bcrypt hash of a cost up to 14: the password has to be set again.');
      return undefined;
    }
    return value === '' ? undefined : [name, value];
  };
}

const tokenKeyLength = { min: 30, max: 255 } as const;

function tokenKeyOf(value: string, omit: Omit): string {
  const isGood =
    value.length >= tokenKeyLength.min && value.length <= tokenKeyLength.max && !value.includes('\0');
  if (isGood) return value;
  omit('tokenKey', 'It is too short or too long, and made again: tokens made with it end.');
  return newTokenKey();
}

function plain(value: ForeignValue): string | number {
  if (value instanceof Uint8Array) return textOf(value);
  return typeof value === 'bigint' ? Number(value) : (value ?? '');
}

/** Returns bytes that are not UTF-8 as an empty text, which no reader accepts as a value. */
function textOf(bytes: Uint8Array): string {
  return isUtf8(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8') : '';
}
