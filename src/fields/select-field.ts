import type { FieldError } from '../base/errors.ts';
import { fieldError } from './field-error.ts';
import type { FieldType, Problems, RawOptions, StoredValue } from './field-type.ts';
import { optionReader } from './option-reader.ts';
import { toText } from './to-text.ts';

export type SelectOptions = Readonly<{
  values: readonly string[];
  /** 0 and 1: one value, stored as text. More: a list, stored as JSON text. */
  maxSelect: number;
  required: boolean;
}>;

export const selectField: FieldType<SelectOptions> = {
  type: 'select',
  decodeOptions,
  column: (options) => (isMultiple(options) ? 'json' : 'text'),
  zero: (options) => (isMultiple(options) ? '[]' : ''),
  normalise: (value, options) => {
    const chosen = uniqueTexts(value);
    return isMultiple(options) ? JSON.stringify(chosen) : (chosen.at(-1) ?? '');
  },
  check,
  toJson: (stored, options) => {
    if (!isMultiple(options)) return JSON.stringify(toText(stored));
    return typeof stored === 'string' && stored !== '' ? stored : '[]';
  },
};

function isMultiple(options: SelectOptions): boolean {
  return options.maxSelect > 1;
}

function decodeOptions(raw: RawOptions, problems: Problems): SelectOptions {
  const read = optionReader(raw, problems);
  const options = {
    values: read.texts('values'),
    maxSelect: read.count('maxSelect'),
    required: read.flag('required'),
  };
  const threshold = Math.max(options.values.length, 1);
  if (options.values.length === 0) problems.add('values', fieldError('validation_required'));
  // An empty choice could never be stored: the empty text means that nothing is chosen.
  if (options.values.includes(''))
    problems.add('values', fieldError('validation_invalid_value', { value: '""' }));
  if (options.maxSelect > threshold)
    problems.add('maxSelect', fieldError('validation_max_less_equal_than_required', { threshold }));
  return options;
}

/** The texts a client chose, each once, in the order of their first appearance, without empty ones. */
function uniqueTexts(value: unknown): string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : (textsOfJson(value) ?? [value]);
  const texts = new Set(items.map(toText));
  texts.delete('');
  return [...texts];
}

/** The items of a text that is a JSON array of texts: how forms send several values. */
function textsOfJson(value: unknown): readonly string[] | undefined {
  if (typeof value !== 'string' || !value.includes('[')) return undefined;
  try {
    const parsed: unknown = JSON.parse(value);
    return Array.isArray(parsed) && parsed.every((item) => typeof item === 'string') ? parsed : undefined;
  } catch {
    // Not JSON: an ordinary value with a bracket in it.
    return undefined;
  }
}

function check(stored: StoredValue, options: SelectOptions): FieldError | undefined {
  if (typeof stored !== 'string') return fieldError('validation_unsupported_value_type');
  const chosen = chosenIn(stored, options);
  if (chosen === undefined) return fieldError('validation_unsupported_value_type');
  if (chosen.length === 0) return options.required ? fieldError('validation_required') : undefined;
  const maxSelect = Math.max(options.maxSelect, 1);
  if (chosen.length > maxSelect) return fieldError('validation_too_many_values', { maxSelect });
  const unknown = chosen.find((value) => !options.values.includes(value));
  return unknown === undefined ? undefined : fieldError('validation_invalid_value', { value: unknown });
}

function chosenIn(stored: string, options: SelectOptions): readonly string[] | undefined {
  if (stored === '') return [];
  return isMultiple(options) ? textsOfJson(stored) : [stored];
}
