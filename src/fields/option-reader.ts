import { fieldError, invalidValue } from './field-error.ts';
import type { Problems, RawOptions } from './field-type.ts';

/** Reads members of a definition. Absent and null give the default; a wrong type is reported as a problem and gives the default, too. */
export interface OptionReader {
  readonly flag: (name: string) => boolean;
  readonly text: (name: string) => string;
  /** A whole number from 0 (the default) to 2^53 - 1. */
  readonly count: (name: string) => number;
  /** A finite number, or null. */
  readonly bound: (name: string) => number | null;
  readonly texts: (name: string) => readonly string[];
}

/** The maximum of texts in an option: each value of a record may be compared with all of them. */
const textsMax = 10_000;

export function optionReader(raw: RawOptions, problems: Problems): OptionReader {
  const member = (name: string): unknown => (Object.hasOwn(raw, name) ? (raw[name] ?? undefined) : undefined);
  const refuse = (name: string, expected: string) => problems.add(name, invalidValue(`Must be ${expected}.`));

  return {
    flag: (name) => {
      const value = member(name);
      if (value !== undefined && typeof value !== 'boolean') refuse(name, 'true or false');
      return value === true;
    },
    text: (name) => {
      const value = member(name) ?? '';
      if (typeof value === 'string') return value;
      refuse(name, 'a text');
      return '';
    },
    count: (name) => {
      const value = member(name) ?? 0;
      if (typeof value !== 'number' || !Number.isInteger(value)) refuse(name, 'a whole number');
      else if (value < 0)
        problems.add(name, fieldError('validation_min_greater_equal_than_required', { threshold: 0 }));
      else if (value > Number.MAX_SAFE_INTEGER) problems.add(name, tooLarge(Number.MAX_SAFE_INTEGER));
      // Adding zero turns the -0 of JSON into 0.
      else return value + 0;
      return 0;
    },
    bound: (name) => {
      const value = member(name) ?? null;
      if (value === null) return null;
      if (typeof value === 'number' && Number.isFinite(value)) return value + 0;
      refuse(name, 'a number');
      return null;
    },
    texts: (name) => {
      const value = member(name) ?? [];
      if (Array.isArray(value) && value.length > textsMax) {
        refuse(name, `a list of at most ${textsMax} texts`);
        return [];
      }
      if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
      refuse(name, 'a list of texts');
      return [];
    },
  };
}

function tooLarge(threshold: number) {
  return fieldError('validation_max_less_equal_than_required', { threshold });
}
