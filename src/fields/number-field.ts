import type { FieldError } from '../base/errors.ts';
import { fieldError } from './field-error.ts';
import type { FieldType, Problems, RawOptions, StoredValue } from './field-type.ts';
import { optionReader } from './option-reader.ts';
import { type JsonSchema, orEmpty } from './value-schema.ts';

type NumberOptions = Readonly<{
  min: number | null;
  max: number | null;
  onlyInt: boolean;
  required: boolean;
}>;

/** A finite double; 0 is empty. */
export const numberField: FieldType<NumberOptions> = {
  type: 'number',
  decodeOptions,
  column: () => 'number',
  schema: (options) => ({ input: numberSchema(options), output: { type: 'number' } }),
  zero: () => 0,
  normalise,
  check,
  modifiers: ['f+', 'f-'],
  modify: (stored, { modifier, value }) =>
    add(Number(stored), modifier === 'f-' ? -normalise(value) : normalise(value)),
  toJson: (stored) => (typeof stored === 'number' ? JSON.stringify(stored) : '0'),
};

function decodeOptions(raw: RawOptions, problems: Problems): NumberOptions {
  const read = optionReader(raw, problems);
  const options = {
    min: read.bound('min'),
    max: read.bound('max'),
    onlyInt: read.flag('onlyInt'),
    required: read.flag('required'),
  };
  for (const name of ['min', 'max'] as const) {
    const bound = options[name];
    if (options.onlyInt && bound !== null && !Number.isInteger(bound))
      problems.add(name, fieldError('validation_only_int_constraint'));
  }
  if (options.min !== null && options.max !== null && options.max < options.min)
    problems.add('max', fieldError('validation_min_number_constraint', { min: options.min }));
  return options;
}

/** Returns NaN for a value that is neither a number nor empty. */
function normalise(value: unknown): number {
  if (typeof value === 'number') return value + 0;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value === null || value === undefined) return 0;
  return typeof value === 'string' ? fromText(value) : NaN;
}

/** Every double can be written in fewer characters, so a longer text is not looked through. */
const textLengthMax = 400;

/**
 * Matches a decimal number in linear time: no two repetitions can match the same digits. With `\d+\.?\d*` a text of 250 KB would
 * take a minute.
 */
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * Parses a decimal number; an empty text is 0. Others are NaN, also a whole number that is not a safe integer, which would come back
 * as another one (a JSON body with it is refused, too). One that overflows is infinite.
 */
function fromText(text: string): number {
  if (text.length > textLengthMax) return NaN;
  const trimmed = text.trim();
  if (trimmed === '') return 0;
  if (/^[+-]?\d+$/.test(trimmed) && !Number.isSafeInteger(Number(trimmed))) return NaN;
  return DECIMAL.test(trimmed) ? Number(trimmed) + 0 : NaN;
}

/**
 * Adds numbers. The result is infinite where it overflows, and NaN where two safe integers have a sum that is none: it may be
 * wrong, and no client could send it back. `check` refuses both.
 */
function add(one: number, other: number): number {
  const sum = one + other;
  const isCounted = Number.isSafeInteger(one) && Number.isSafeInteger(other);
  return isCounted && !Number.isSafeInteger(sum) ? NaN : sum;
}

function check(stored: StoredValue, options: NumberOptions): FieldError | undefined {
  if (typeof stored !== 'number') return fieldError('validation_unsupported_value_type');
  if (!Number.isFinite(stored)) return fieldError('validation_not_a_number');
  if (stored === 0) return options.required ? fieldError('validation_required') : undefined;
  if (options.onlyInt && !Number.isInteger(stored)) return fieldError('validation_only_int_constraint');
  const { min, max } = options;
  if (min !== null && stored < min) return fieldError('validation_min_number_constraint', { min });
  if (max !== null && stored > max) return fieldError('validation_max_number_constraint', { max });
  return undefined;
}

/** Returns the schema of the values that a number field accepts. Zero counts as empty: unless a value is required, it is valid whatever the bounds. */
function numberSchema({ min, max, onlyInt, required }: NumberOptions): JsonSchema {
  const number: JsonSchema = { type: onlyInt ? 'integer' : 'number' };
  const bounds = { ...(min === null ? {} : { minimum: min }), ...(max === null ? {} : { maximum: max }) };
  if (required) return { ...number, ...bounds, not: { const: 0 } };
  const isZeroWithin = (min ?? 0) <= 0 && (max ?? 0) >= 0;
  return isZeroWithin ? { ...number, ...bounds } : orEmpty(number, 0, bounds);
}
