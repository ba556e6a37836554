import { fieldError, invalidValue } from './field-error.ts';
import type { FieldType } from './field-type.ts';
import { optionReader } from './option-reader.ts';

type BoolOptions = Readonly<{ required: boolean }>;

const TRUE_TEXTS: ReadonlySet<unknown> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const FALSE_TEXTS: ReadonlySet<unknown> = new Set(['', '0', 'f', 'F', 'false', 'FALSE', 'False']);

/** True or false, stored as 1 or 0. `required` means: must be true. */
export const boolField: FieldType<BoolOptions> = {
  type: 'bool',
  decodeOptions: (raw, problems) => ({ required: optionReader(raw, problems).flag('required') }),
  column: () => 'bool',
  schema: ({ required }) => ({
    input: required ? { type: 'boolean', const: true } : { type: 'boolean' },
    output: { type: 'boolean' },
  }),
  zero: () => 0,
  normalise,
  check: (stored, options) => {
    if (stored !== 0 && stored !== 1) return invalidValue('Must be true or false.');
    return options.required && stored === 0 ? fieldError('validation_required') : undefined;
  },
  toJson: (stored) => (stored === 1 ? 'true' : 'false'),
};

/** Returns null for a value that is neither. */
function normalise(value: unknown): 0 | 1 | null {
  if (typeof value === 'number' && !Number.isNaN(value)) return value === 0 ? 0 : 1;
  if (value === true || TRUE_TEXTS.has(value)) return 1;
  const isFalse = value === false || value === null || value === undefined || FALSE_TEXTS.has(value);
  return isFalse ? 0 : null;
}
