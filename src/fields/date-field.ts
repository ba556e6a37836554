import type { FieldError } from '../base/errors.ts';
import { fieldError, invalidValue } from './field-error.ts';
import type { FieldType, Problems, RawOptions, StoredValue } from './field-type.ts';
import { optionReader } from './option-reader.ts';
import { parseDate } from './parse-date.ts';
import { toText } from './to-text.ts';

export type DateOptions = Readonly<{
  /** Bounds in the wire format; empty for none. */
  min: string;
  max: string;
  required: boolean;
}>;

/** A moment in the wire format, or empty. Bytewise order is order in time: every stored date has the same width. */
export const dateField: FieldType<DateOptions> = {
  type: 'date',
  decodeOptions,
  column: () => 'text',
  isPlain: true,
  zero: () => '',
  normalise: (value) => (typeof value === 'string' ? parseDate(value) : ''),
  check,
  toJson: (stored) => JSON.stringify(toText(stored)),
};

function decodeOptions(raw: RawOptions, problems: Problems): DateOptions {
  const read = optionReader(raw, problems);
  const bound = (name: string) => {
    const text = read.text(name);
    const date = parseDate(text);
    if (text !== '' && date === '') problems.add(name, invalidValue('Must be a valid date.'));
    return date;
  };
  const options = { min: bound('min'), max: bound('max'), required: read.flag('required') };
  if (options.min !== '' && options.max !== '' && options.max < options.min)
    problems.add('max', fieldError('validation_min_greater_equal_than_required', { threshold: options.min }));
  return options;
}

function check(stored: StoredValue, options: DateOptions): FieldError | undefined {
  if (typeof stored !== 'string') return fieldError('validation_unsupported_value_type');
  if (stored === '') return options.required ? fieldError('validation_required') : undefined;
  const { min, max } = options;
  if (min !== '' && stored < min)
    return fieldError('validation_min_greater_equal_than_required', { threshold: min });
  if (max !== '' && stored > max)
    return fieldError('validation_max_less_equal_than_required', { threshold: max });
  return undefined;
}
