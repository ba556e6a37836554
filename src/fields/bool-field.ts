import { fieldError } from './field-error.ts';
import type { FieldType } from './field-type.ts';
import { optionReader } from './option-reader.ts';

type BoolOptions = Readonly<{ required: boolean }>;

const TRUE_TEXTS: ReadonlySet<unknown> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** True or false, stored as 1 or 0. `required` means: must be true. */
export const boolField: FieldType<BoolOptions> = {
  type: 'bool',
  decodeOptions: (raw, problems) => ({ required: optionReader(raw, problems).flag('required') }),
  column: () => 'bool',
  schema: ({ required }) => ({
    given: required ? { const: true } : { type: 'boolean' },
    answered: { type: 'boolean' },
  }),
  zero: () => 0,
  normalise: (value) => (isTrue(value) ? 1 : 0),
  check: (stored, options) => {
    if (stored !== 0 && stored !== 1) return fieldError('validation_unsupported_value_type');
    return options.required && stored === 0 ? fieldError('validation_required') : undefined;
  },
  toJson: (stored) => (stored === 1 ? 'true' : 'false'),
};

function isTrue(value: unknown): boolean {
  // NaN is false, like every value that is not understood.
  if (typeof value === 'number') return value !== 0 && !Number.isNaN(value);
  return value === true || TRUE_TEXTS.has(value);
}
