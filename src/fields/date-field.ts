import type { FieldError } from '../base/errors.ts';
import { readDate, toDate } from '../base/read-date.ts';
import { fieldError, invalidValue } from './field-error.ts';
import type { FieldType, Problems, RawOptions, StoredValue } from './field-type.ts';
import { optionReader, toText } from './option-reader.ts';
import { filledText, type JsonSchema } from './value-schema.ts';

type DateOptions = Readonly<{
  /** Bounds in the wire format; empty for none. */
  min: string;
  max: string;
  required: boolean;
}>;

/** Every stored moment. */
export const momentSchema: JsonSchema = {
  type: 'string',
  pattern: '^(\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z)?$',
  description: 'In UTC; empty for none.',
};

export const exampleMoment = '2026-11-20 09:35:20.114Z';

/** A moment in the wire format, or empty. Bytewise order is order in time: every stored date has the same width. */
export const dateField: FieldType<DateOptions> = {
  type: 'date',
  decodeOptions,
  column: () => 'text',
  isPlain: true,
  isShort: true,
  schema: ({ min, max, required }) => ({
    input: {
      ...filledText(required),
      description: `A moment, as \`${exampleMoment}\`.${between(min, max)}`,
    },
    output: momentSchema,
    example: exampleMoment,
  }),
  zero: () => '',
  normalise,
  check,
  toJson: (stored) => JSON.stringify(toText(stored)),
};

function decodeOptions(raw: RawOptions, problems: Problems): DateOptions {
  const read = optionReader(raw, problems);
  const bound = (name: string) => {
    const date = readDate(read.text(name));
    if (date === undefined) problems.add(name, invalidValue('Must be a valid date.'));
    return date ?? '';
  };
  const options = { min: bound('min'), max: bound('max'), required: read.flag('required') };
  if (options.min !== '' && options.max !== '' && options.max < options.min)
    problems.add('max', fieldError('validation_min_greater_equal_than_required', { threshold: options.min }));
  return options;
}

/** Unix times below this are in seconds, of which it is the year 5138; above, they are in milliseconds. */
const SECONDS_MAX = 1e11;

/** Returns a moment in the wire format; null for a value that is neither a date nor empty. */
function normalise(value: unknown): string | null {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return readDate(value) ?? null;
  if (typeof value !== 'number') return null;
  return toDate(Math.abs(value) < SECONDS_MAX ? Math.round(value * 1_000) : Math.round(value)) ?? null;
}

function check(stored: StoredValue, options: DateOptions): FieldError | undefined {
  if (typeof stored !== 'string') return invalidValue(`Must be a date such as ${exampleMoment}.`);
  if (stored === '') return options.required ? fieldError('validation_required') : undefined;
  const { min, max } = options;
  if (min !== '' && stored < min)
    return fieldError('validation_min_greater_equal_than_required', { threshold: min });
  if (max !== '' && stored > max)
    return fieldError('validation_max_less_equal_than_required', { threshold: max });
  return undefined;
}

function between(min: string, max: string): string {
  return `${min === '' ? '' : ` Not before ${min}.`}${max === '' ? '' : ` Not after ${max}.`}`;
}
