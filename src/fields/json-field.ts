import type { FieldError } from '../base/errors.ts';
import { compactParsed, jsonDepthMax, tryParse } from './compact-json.ts';
import { fieldError } from './field-error.ts';
import type { FieldType, StoredValue } from './field-type.ts';
import { optionReader } from './option-reader.ts';

export type JsonOptions = Readonly<{
  /** Bytes of the stored text; 0 means 1 MiB. */
  maxSize: number;
  required: boolean;
}>;

const sizeMaxDefault = 1024 * 1024;
const EMPTY_TEXTS: ReadonlySet<StoredValue> = new Set([null, '""', '[]', '{}']);

/** Stored for a value that JSON text may not hold, so that `check` refuses it: no JSON text is empty. */
const INVALID = '';

/** Any JSON value as compact text, key order kept. JSON null is stored as NULL, so that it has one form only. */
export const jsonField: FieldType<JsonOptions> = {
  type: 'json',
  decodeOptions: (raw, problems) => {
    const read = optionReader(raw, problems);
    return { maxSize: read.count('maxSize'), required: read.flag('required') };
  },
  column: () => 'json',
  zero: () => null,
  normalise: (value, options) => {
    const text = typeof value === 'string' ? fromText(value, options) : fromValue(value);
    return text === 'null' ? null : text;
  },
  check,
  toJson: (stored) => (stored === null || stored === INVALID ? 'null' : String(stored)),
};

/**
 * The last text that was made here, and so is JSON: `check` asks about it next, and parsing it would cost more than making it
 * did.
 */
let lastMade: string | undefined;

function fromText(text: string, options: JsonOptions): string {
  const lengthMax = sizeMax(options);
  // Not parsed, which could take many times its memory. Its beginning is too large as a JSON string, and `check` refuses it.
  if (text.length > lengthMax) return JSON.stringify(text.slice(0, lengthMax).toWellFormed());
  if (text === 'null' || text === 'true' || text === 'false') return text;
  const parsed = /^[\d\-"[{]/.test(text) ? tryParse(text) : undefined;
  const compact =
    parsed === undefined ? compactParsed(JSON.stringify(text), { value: text }) : compactParsed(text, parsed);
  lastMade = compact;
  return compact ?? INVALID;
}

function fromValue(value: unknown): string {
  if (value === undefined) return 'null';
  if (!isStorable(value, 0)) return INVALID;
  lastMade = JSON.stringify(value);
  return lastMade;
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
  if (text === lastMade) return true;
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
