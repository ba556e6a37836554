import type { FieldError } from '../base/errors.ts';
import { fieldError } from './field-error.ts';
import type { FieldType, StoredValue } from './field-type.ts';
import { optionReader } from './option-reader.ts';

type JsonOptions = Readonly<{
  /** Bytes of the stored text; 0 means 1 MiB. */
  maxSize: number;
  required: boolean;
}>;

const sizeMaxDefault = 1024 * 1024;
const EMPTY_TEXTS: ReadonlySet<StoredValue> = new Set([null, '""', '[]', '{}']);

/** Stored for a value that JSON text may not hold, so that `check` refuses it: no JSON text is empty. */
const INVALID = '';

/**
 * The last text that was made here, and so is JSON: `check` gets it next, and parsing it would cost more than making it
 * did.
 */
let lastJson: string | undefined;

/** Any JSON value as compact text, key order kept. JSON null is stored as NULL, so that it has one form only. */
export const jsonField: FieldType<JsonOptions> = {
  type: 'json',
  decodeOptions: (raw, problems) => {
    const read = optionReader(raw, problems);
    return { maxSize: read.count('maxSize'), required: read.flag('required') };
  },
  column: () => 'json',
  schema: ({ maxSize, required }) => ({
    input: {
      ...(required ? { not: { enum: [null, '', [], {}] } } : {}),
      description: `Any JSON value, at most ${maxSize || '1 Mi'} bytes.`,
    },
    output: { description: 'Any JSON value.' },
    example: {},
  }),
  zero: () => null,
  normalise: (value, options) => {
    const text = typeof value === 'string' ? fromText(value, options) : fromValue(value);
    return text === 'null' ? null : text;
  },
  check,
  toJson: (stored) => (stored === null || stored === INVALID ? 'null' : String(stored)),
};

function fromText(text: string, options: JsonOptions): string {
  const lengthMax = sizeMax(options);
  // Not parsed, which could take many times its memory. Its beginning is too large as a JSON string, and `check` refuses it.
  if (text.length > lengthMax) return JSON.stringify(text.slice(0, lengthMax).toWellFormed());
  if (text === 'null' || text === 'true' || text === 'false') return text;
  const parsed = /^[\d\-"[{]/.test(text) ? tryParse(text) : undefined;
  const compact =
    parsed === undefined ? compactParsed(JSON.stringify(text), { value: text }) : compactParsed(text, parsed);
  lastJson = compact;
  return compact ?? INVALID;
}

function fromValue(value: unknown): string {
  if (value === undefined) return 'null';
  if (!isStorable(value, 0)) return INVALID;
  lastJson = JSON.stringify(value);
  return lastJson;
}

/** Whether a value meets the conditions that {@link compactJson} puts on a text. Cycles, bigints, NaN and the like cannot come from JSON. */
function isStorable(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || depth === jsonDepthMax) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (!isStorable(item, depth + 1)) return false;
    return true;
  }
  for (const [key, member] of Object.entries(value))
    if (!isStorable(key, 0) || !isStorable(member, depth + 1)) return false;
  return true;
}

function isJson(text: string): boolean {
  if (text === lastJson) return true;
  return tryParse(text) !== undefined;
}

function check(
  stored: StoredValue,
  options: JsonOptions,
  before: StoredValue | undefined,
): FieldError | undefined {
  const maxSize = sizeMax(options);
  if (typeof stored === 'number') return fieldError('validation_unsupported_value_type');
  if (stored !== null && Buffer.byteLength(stored) > maxSize)
    return fieldError('validation_json_size_limit', { maxSize });
  // Parsed again, wherever it came from: one broken text would break every list with its record. The record's present value is in
  // those already.
  if (stored !== null && stored !== before && !isJson(stored)) return fieldError('validation_invalid_json');
  return options.required && EMPTY_TEXTS.has(stored) ? fieldError('validation_required') : undefined;
}

function sizeMax(options: JsonOptions): number {
  return options.maxSize === 0 ? sizeMaxDefault : options.maxSize;
}

/** Levels of nesting. Deeper JSON is refused everywhere (http-api.md A14): it could be stored, but not written to an answer. */
export const jsonDepthMax = 64;

interface Cursor {
  readonly text: string;
  at: number;
}

/** The value of a JSON text. */
interface Parsed {
  readonly value: unknown;
}

class Refused extends Error {
  override readonly name = 'Refused';
}

/**
 * Returns the same JSON without white space: keys in their order (`JSON.parse` would put those that look like numbers first), the
 * last of equal keys, numbers and escapes as ECMAScript prints them. Undefined for a text that is not JSON or that http-api.md
 * A14 refuses: U+0000, lone surrogates, whole numbers beyond 2^53 - 1, numbers that overflow, 65 levels.
 */
export function compactJson(text: string): string | undefined {
  const parsed = tryParse(text);
  return parsed && compactParsed(text, parsed);
}

/** Returns the value of a text; undefined if it is not JSON. */
function tryParse(text: string): Parsed | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** As {@link compactJson}, for a text that was parsed before: its syntax is proven, so that the walk need not look for errors. */
function compactParsed(text: string, { value }: Parsed): string | undefined {
  // A text that prints as it came is compact already, and needs the walk only where something in it may be refused.
  if (text.length <= quickLengthMax && !mayBeRefused.test(text) && JSON.stringify(value) === text)
    return text;
  if (!text.isWellFormed()) return undefined;
  try {
    return compactValue({ text, at: 0 }, 0);
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}

/** In longer texts `mayBeRefused` would backtrack too much. */
const quickLengthMax = 4_096;

/** Finds an escape by number, more digits than every whole number may have, or as many brackets as are one level too many. */
const mayBeRefused = /\\u|\d{16}|^[^[{]*(?:[[{][^[{]*){65}/;

const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const digit0 = 0x30;
const digit9 = 0x39;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

function compactValue(cursor: Cursor, depth: number): string {
  const first = peek(cursor);
  if (first === quote) return compactText(cursor);
  if (first !== openBrace && first !== openBracket) return compactLiteral(cursor);
  if (depth === jsonDepthMax) throw new Refused('too deep');
  return first === openBrace ? compactObject(cursor, depth + 1) : compactArray(cursor, depth + 1);
}

function compactObject(cursor: Cursor, depth: number): string {
  const members = new Map<string, string>();
  cursor.at++;
  while (peek(cursor) !== closeBrace) {
    const key = compactText(cursor);
    // The colon: peek skips the white space before it.
    peek(cursor);
    cursor.at++;
    members.set(key, compactValue(cursor, depth));
    if (peek(cursor) === comma) cursor.at++;
  }
  cursor.at++;
  return `{${Array.from(members, ([key, value]) => `${key}:${value}`).join(',')}}`;
}

function compactArray(cursor: Cursor, depth: number): string {
  const items: string[] = [];
  cursor.at++;
  while (peek(cursor) !== closeBracket) {
    items.push(compactValue(cursor, depth));
    if (peek(cursor) === comma) cursor.at++;
  }
  cursor.at++;
  return `[${items.join(',')}]`;
}

function compactText(cursor: Cursor): string {
  const { text, at: start } = cursor;
  let hasEscape = false;
  let at = start + 1;
  for (let code = text.charCodeAt(at); code !== quote; code = text.charCodeAt(++at)) {
    if (code !== backslash) continue;
    hasEscape = true;
    at++;
  }
  cursor.at = at + 1;
  const raw = text.slice(start, cursor.at);
  // Without escapes a JSON string already is what ECMAScript would print.
  if (!hasEscape) return raw;
  const value: unknown = JSON.parse(raw);
  if (typeof value !== 'string' || value.includes('\0') || !value.isWellFormed())
    throw new Refused('unstorable text');
  return JSON.stringify(value);
}

/** Whole numbers of so many digits are safe integers. */
const safeLength = 15;

function compactLiteral(cursor: Cursor): string {
  const { text, at: start } = cursor;
  let at = start;
  let code = text.charCodeAt(at);
  while (code >= digit0 && code <= digit9) code = text.charCodeAt(++at);
  // A natural number already is what ECMAScript would print.
  const isNatural = at > start && at - start <= safeLength && isEnd(code);
  while (!isEnd(code)) code = text.charCodeAt(++at);
  cursor.at = at;
  const raw = text.slice(start, at);
  if (isNatural || raw === 'true' || raw === 'false' || raw === 'null') return raw;
  const value = Number(raw);
  const isWhole = /^-?\d+$/.test(raw);
  if (!Number.isFinite(value) || (isWhole && !Number.isSafeInteger(value)))
    throw new Refused('unstorable number');
  return JSON.stringify(value);
}

/** Whether a literal ends before this character. The code is NaN behind the end of the text. */
function isEnd(code: number): boolean {
  return !(code > space) || code === comma || code === closeBracket || code === closeBrace;
}

/** Returns the code of the next character that is not white space, without consuming it. */
function peek(cursor: Cursor): number {
  let code = cursor.text.charCodeAt(cursor.at);
  while (code <= space) code = cursor.text.charCodeAt(++cursor.at);
  return code;
}
