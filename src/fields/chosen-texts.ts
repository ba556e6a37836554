import type { FieldError } from '../base/errors.ts';
import { fieldError } from './field-error.ts';
import type { FieldChange, ColumnKind, FieldOptions, StoredValue } from './field-type.ts';
import { toText } from './option-reader.ts';
import type { JsonSchema, ValueSchema } from './value-schema.ts';

export type ChosenTextsOptions = FieldOptions &
  Readonly<{
    /** 0 and 1: one text, stored as it is. More: a list of texts, stored as JSON text. */
    maxSelect: number;
  }>;

/** The maximum of texts in one value, whatever a definition sets: each may have to be looked up. */
const textsMax = 10_000;
/** The maximum length of a text that is read as a JSON array of texts. Where several are kept, longer ones count as too many. */
const jsonLengthMax = 1024 * 1024;
/** Stored for a list of more than `textsMax` texts, so that `check` refuses it. It stays when a modifier removes some of them. */
const TOO_MANY = 'null';

/** What the types select, relation and file share: one text, or several that all differ. None is empty. */
export const chosenTexts = {
  column: (options: ChosenTextsOptions): ColumnKind => (isMultiple(options) ? 'json' : 'text'),
  zero: (options: ChosenTextsOptions): StoredValue => (isMultiple(options) ? '[]' : ''),
  normalise: (value: unknown, options: ChosenTextsOptions): StoredValue => {
    const items = itemsOf(value, options);
    if (items === undefined) return TOO_MANY;
    return items.some(isNoText) ? null : toStored(uniqueTexts(items), options);
  },
  toJson: (stored: StoredValue, options: ChosenTextsOptions): string => {
    if (!isMultiple(options)) return JSON.stringify(toText(stored));
    return typeof stored === 'string' && stored !== '' ? stored : '[]';
  },
  modifiers: ['f+', '+f', 'f-'],
  modify: (
    stored: StoredValue,
    { modifier, value }: FieldChange,
    options: ChosenTextsOptions,
  ): StoredValue => {
    const items = itemsOf(value, options);
    if (items === undefined || hasTooMany(stored, options)) return TOO_MANY;
    if (stored === null || items.some(isNoText)) return null;
    const before = chosenTexts.read(stored, options) ?? [];
    if (modifier === 'f-') return toStored(without(before, items), options);
    return toStored(uniqueTexts(modifier === '+f' ? [...items, ...before] : [...before, ...items]), options);
  },

  /** Returns the texts of a stored value; undefined for what `normalise` does not make, and for too many texts. */
  read: (stored: StoredValue, options: ChosenTextsOptions): readonly string[] | undefined => {
    if (typeof stored !== 'string') return undefined;
    if (stored === '') return [];
    return isMultiple(options) ? textsOfJson(stored) : [stored];
  },

  /** Returns how many texts a value may have. */
  countMax: (options: ChosenTextsOptions): number => Math.min(Math.max(options.maxSelect, 1), textsMax),

  /** Returns the problem of a stored value that `read` does not read. */
  unreadable: (
    stored: StoredValue,
    options: ChosenTextsOptions,
    tooMany: 'validation_too_many_values' | 'validation_too_many_files',
  ): FieldError =>
    hasTooMany(stored, options)
      ? fieldError(tooMany, { maxSelect: chosenTexts.countMax(options) })
      : fieldError('validation_unsupported_value_type'),
} as const;

interface ChosenOptions {
  /** One of the texts, for examples. */
  readonly example: string;
  readonly item: JsonSchema;
  /** The same, or the empty text; `item` if left out. */
  readonly itemOrEmpty?: JsonSchema;
  /** 0 or 1: the value is one text; more: a list. */
  readonly maxSelect: number;
  readonly minSelect?: number;
  readonly required: boolean;
  readonly description?: string;
}

/** Schemas of such values: one text or several different ones, none of them empty. */
export function chosenSchema(options: ChosenOptions): ValueSchema {
  const { item, maxSelect, required, description, example } = options;
  const { itemOrEmpty = item } = options;
  const noted = description === undefined ? {} : { description };
  if (maxSelect <= 1) {
    const one = required ? item : itemOrEmpty;
    return { input: { ...one, ...noted }, output: { type: 'string', ...noted }, example };
  }
  const several = { type: 'array', items: item, uniqueItems: true, maxItems: maxSelect };
  return {
    input: { ...withMinimum(several, options), ...noted },
    output: { type: 'array', items: { type: 'string' }, uniqueItems: true, ...noted },
    example: [example],
  };
}

/** Adds the minimum. Unless `required`, an empty list is valid whatever the minimum. */
function withMinimum(several: JsonSchema, { required, minSelect = 0 }: ChosenOptions): JsonSchema {
  if (required) return { ...several, minItems: Math.max(1, minSelect) };
  if (minSelect <= 1) return several;
  return { ...several, if: { maxItems: 0 }, else: { minItems: minSelect } };
}

/** Whether an item is a list or an object: a record instead of its id, say. It would otherwise be read as an empty text. */
function isNoText(item: unknown): boolean {
  return typeof item === 'object' && item !== null;
}

function isMultiple(options: ChosenTextsOptions): boolean {
  return options.maxSelect > 1;
}

function hasTooMany(stored: StoredValue, options: ChosenTextsOptions): boolean {
  return stored === TOO_MANY && isMultiple(options);
}

/** Returns the stored form of texts. Where only one is kept, it is the last. */
function toStored(texts: readonly string[], options: ChosenTextsOptions): string {
  return isMultiple(options) ? JSON.stringify(texts) : (texts.at(-1) ?? '');
}

/** Returns the items of a client's value, one or several; undefined where they are too many. */
function itemsOf(value: unknown, options: ChosenTextsOptions): readonly unknown[] | undefined {
  if (typeof value === 'string' && value.length > jsonLengthMax)
    return isMultiple(options) ? undefined : [value];
  const list = typeof value === 'string' ? textsOfJson(value) : value;
  if (!Array.isArray(list)) return [value];
  const items: readonly unknown[] = list;
  if (items.length <= textsMax) return items;
  // Where one is kept, it is among the last.
  return isMultiple(options) ? undefined : items.slice(-textsMax);
}

/** Returns the texts, each once, in the order of their first appearance, without empty ones. */
function uniqueTexts(items: readonly unknown[]): readonly string[] {
  const texts = new Set(items.map(toText));
  texts.delete('');
  return [...texts];
}

function without(texts: readonly string[], removed: readonly unknown[]): readonly string[] {
  const removedTexts = new Set(removed.map(toText));
  return texts.filter((text) => !removedTexts.has(text));
}

/** Returns the items of a text that is a JSON array of texts, as forms send several values. */
function textsOfJson(text: string): readonly string[] | undefined {
  if (!text.includes('[')) return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) && parsed.every((item) => typeof item === 'string') ? parsed : undefined;
  } catch {
    // Not JSON: an ordinary value with a bracket in it.
    return undefined;
  }
}
