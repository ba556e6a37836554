import type { FieldError } from '../base/errors.ts';
import { fieldError } from './field-error.ts';
import type { FieldType, Problems, RawOptions, StoredValue } from './field-type.ts';
import { optionReader, readText } from './option-reader.ts';
import { checkPattern, isMatch, patternProblem } from './pattern.ts';
import { textSchema } from './text-field.ts';

type PasswordOptions = Readonly<{
  /** Code points; 0 for none. */
  min: number;
  /** Code points; 0 for as many as 512 bytes hold. */
  max: number;
  /** RE2 syntax, found anywhere unless anchored; empty for none. */
  pattern: string;
  /** The cost for bcrypt in definitions of the reference. Kept and shown, but not used: hashes here have one cost. */
  cost: number;
  required: boolean;
}>;

/** http-api.md A12: longer passwords are never hashed, whatever a definition sets. */
const bytesMax = 512;
/** The costs that bcrypt accepts; 0 is its default. */
const COST = { min: 4, max: 31 } as const;

/** A text of which only a hash is stored, apart from the record (A13): it has no column and no JSON. */
export const passwordField: FieldType<PasswordOptions> = {
  type: 'password',
  decodeOptions,
  column: () => undefined,
  schema: (options) => ({
    input: {
      ...textSchema({ ...options, max: options.max === 0 ? bytesMax : options.max }),
      writeOnly: true,
      description: `Never shown again. At most ${bytesMax} bytes.`,
    },
  }),
  zero: () => '',
  normalise: readText,
  check,
  toJson: () => 'null',
};

function decodeOptions(raw: RawOptions, problems: Problems): PasswordOptions {
  const read = optionReader(raw, problems);
  const options: PasswordOptions = {
    min: read.count('min'),
    max: read.count('max'),
    pattern: read.text('pattern'),
    cost: read.count('cost'),
    required: read.flag('required'),
  };
  const { min, max, cost } = options;
  if (max !== 0 && max < min)
    problems.add('max', fieldError('validation_min_greater_equal_than_required', { threshold: min }));
  for (const name of ['min', 'max'] as const)
    if (options[name] > bytesMax)
      problems.add(name, fieldError('validation_max_less_equal_than_required', { threshold: bytesMax }));
  if (cost !== 0 && cost < COST.min)
    problems.add('cost', fieldError('validation_min_greater_equal_than_required', { threshold: COST.min }));
  if (cost > COST.max)
    problems.add('cost', fieldError('validation_max_less_equal_than_required', { threshold: COST.max }));
  const problem = patternProblem(() => checkPattern(options.pattern));
  if (problem !== undefined) problems.add('pattern', fieldError('validation_invalid_regex', { problem }));
  return options;
}

function check(password: StoredValue, options: PasswordOptions): FieldError | undefined {
  if (typeof password !== 'string') return fieldError('validation_unsupported_value_type');
  if (password === '') return options.required ? fieldError('validation_required') : undefined;
  const { min, max } = options;
  // Checked before characters are counted: it may be as long as a body.
  if (Buffer.byteLength(password) > bytesMax) return tooLong(`${bytesMax} bytes`);
  const length = Array.from(password).length;
  if (length < min)
    return { code: 'validation_min_text_constraint', message: `Must be at least ${min} character(s).` };
  if (max !== 0 && length > max) return tooLong(`${max} character(s)`);
  const isWrong = options.pattern !== '' && !isMatch(options.pattern, password);
  return isWrong ? fieldError('validation_invalid_format') : undefined;
}

/**
 * Returns the contract's error, whose words ("less than") are wrong: a text of exactly that length is accepted. Its messages for
 * passwords have no params.
 */
function tooLong(bound: string): FieldError {
  return { code: 'validation_max_text_constraint', message: `Must be less than ${bound}.` };
}
