import type { FieldError } from '../base/errors.ts';
import { chosenSchema, chosenTexts } from './chosen-texts.ts';
import { fieldError } from './field-error.ts';
import type { FieldType, Problems, RawOptions, StoredValue } from './field-type.ts';
import { optionReader } from './option-reader.ts';
import { choice } from './value-schema.ts';

type SelectOptions = Readonly<{
  values: readonly string[];
  /** 0 and 1: one value, stored as text. More: a list, stored as JSON text. */
  maxSelect: number;
  required: boolean;
}>;

export const selectField: FieldType<SelectOptions> = {
  ...chosenTexts,
  type: 'select',
  decodeOptions,
  check,
  schema: ({ values, ...options }) =>
    chosenSchema({
      ...options,
      item: choice(values),
      itemOrEmpty: choice([...values, '']),
      example: values[0] ?? '',
    }),
};

function decodeOptions(raw: RawOptions, problems: Problems): SelectOptions {
  const read = optionReader(raw, problems);
  const options = {
    values: read.texts('values'),
    maxSelect: read.count('maxSelect'),
    required: read.flag('required'),
  };
  const threshold = Math.max(options.values.length, 1);
  if (options.values.length === 0) problems.add('values', fieldError('validation_required'));
  // An empty value could never be chosen: the empty text means that nothing is.
  if (options.values.includes(''))
    problems.add('values', fieldError('validation_invalid_value', { value: '""' }));
  if (options.maxSelect > threshold)
    problems.add('maxSelect', fieldError('validation_max_less_equal_than_required', { threshold }));
  return options;
}

function check(stored: StoredValue, options: SelectOptions): FieldError | undefined {
  const selection = chosenTexts.read(stored, options);
  if (selection === undefined) return chosenTexts.unreadable(stored, options, 'validation_too_many_values');
  if (selection.length === 0) return options.required ? fieldError('validation_required') : undefined;
  const maxSelect = chosenTexts.countMax(options);
  if (selection.length > maxSelect) return fieldError('validation_too_many_values', { maxSelect });
  const choices = new Set(options.values);
  const unknown = selection.find((value) => !choices.has(value));
  return unknown === undefined ? undefined : fieldError('validation_invalid_value', { value: unknown });
}
