import type { Change, ColumnKind, FieldOptions, StoredValue } from './field-type.ts';
import { toText } from './to-text.ts';

export type ChosenTextsOptions = FieldOptions &
  Readonly<{
    /** 0 and 1: one text, stored as it is. More: a list of texts, stored as JSON text. */
    maxSelect: number;
  }>;

/** What the types select, relation and file share: one text, or several that all differ. None is empty. */
export const chosenTexts = {
  column: (options: ChosenTextsOptions): ColumnKind => (isMultiple(options) ? 'json' : 'text'),
  zero: (options: ChosenTextsOptions): StoredValue => (isMultiple(options) ? '[]' : ''),
  normalise: (value: unknown, options: ChosenTextsOptions): StoredValue =>
    toStored(uniqueTexts(value), options),
  toJson: (stored: StoredValue, options: ChosenTextsOptions): string => {
    if (!isMultiple(options)) return JSON.stringify(toText(stored));
    return typeof stored === 'string' && stored !== '' ? stored : '[]';
  },
  modifiers: ['f+', '+f', 'f-'],
  modify: (stored: StoredValue, { modifier, value }: Change, options: ChosenTextsOptions): StoredValue => {
    const before = chosenTexts.read(stored, options) ?? [];
    const given = uniqueTexts(value);
    if (modifier === 'f-') return toStored(without(before, given), options);
    return toStored(uniqueTexts(modifier === '+f' ? [...given, ...before] : [...before, ...given]), options);
  },

  /** Returns the texts of a stored value; undefined for what `normalise` does not make. */
  read: (stored: StoredValue, options: ChosenTextsOptions): readonly string[] | undefined => {
    if (typeof stored !== 'string') return undefined;
    if (stored === '') return [];
    return isMultiple(options) ? textsOfJson(stored) : [stored];
  },
} as const;

function isMultiple(options: ChosenTextsOptions): boolean {
  return options.maxSelect > 1;
}

/** Returns the stored form of texts. Where only one is kept, it is the last. */
function toStored(texts: readonly string[], options: ChosenTextsOptions): string {
  return isMultiple(options) ? JSON.stringify(texts) : (texts.at(-1) ?? '');
}

/** Returns the texts that a client chose, each once, in the order of their first appearance, without empty ones. */
function uniqueTexts(value: unknown): readonly string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : (textsOfJson(value) ?? [value]);
  const texts = new Set(items.map(toText));
  texts.delete('');
  return [...texts];
}

function without(texts: readonly string[], removed: readonly string[]): readonly string[] {
  const gone = new Set(removed);
  return texts.filter((text) => !gone.has(text));
}

/** Returns the items of a text that is a JSON array of texts, as forms send several values. */
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
