import type { FieldError } from '../base/errors.ts';
import { GenerationCache } from '../base/cache.ts';
import { fieldError } from './field-error.ts';
import type { FieldType, Problems, RawOptions, StoredValue } from './field-type.ts';
import { generateFromPattern, generatorPlan, type GeneratorPlan } from './generate-from-pattern.ts';
import { optionReader, readText, storedAsText } from './option-reader.ts';
import { checkPattern, isMatch, matchedLengthMax, patternProblem } from './pattern.ts';
import { anyText, type JsonSchema, orEmpty } from './value-schema.ts';

export type TextOptions = Readonly<{
  /** Code points; 0 for none. */
  min: number;
  /** Code points; 0 means 5,000. */
  max: number;
  /** RE2 syntax, found anywhere unless anchored; empty for none. */
  pattern: string;
  /** The pattern of the text that a new record gets where the client gave none; empty for no such text. */
  autogeneratePattern: string;
  required: boolean;
  primaryKey: boolean;
}>;

export const textField: FieldType<TextOptions> = {
  ...storedAsText,
  type: 'text',
  decodeOptions,
  schema: (options) => ({
    input: textSchema({ ...options, max: maxOf(options) }),
    output: anyText,
  }),
  check,
  generate,
  modifiers: ['f:autogenerate'],
  // The text that was sent is a prefix of the generated one: `ORD-` makes `ORD-4711`.
  modify: (_stored, { value }, options) => {
    const text = readText(value);
    return text === null ? null : text + (generate(options) ?? '');
  },
};

/** Code points, where a definition sets no `max`. */
const textLengthMaxDefault = 5000;
/** http-api.md A20: ids are part of URLs, file names and every index. */
const idBytesMax = 255;
const ID_PATTERN_DEFAULT = '^[a-z0-9]+$';
const ID_FORBIDDEN = /[./\\|"'`<>:?*%$\0\t\n\r ]/;
const ID_RESERVED = /^(?:con|prn|aux|nul|com[1-9]|lpt[1-9])$/i;
/** As many samples as the reference tries. */
const SAMPLES = 10;

/** Plans by their patterns: parsed again only for a pattern that was not used for long. */
const plans = new GenerationCache<string, GeneratorPlan>(64);

/**
 * Options with a generator that were accepted, by their JSON. To check one takes a millisecond, and most collections define ids
 * and token keys alike. Definitions are decoded at every start and whenever an instance is opened.
 */
const acceptedOptions = new GenerationCache<string, TextOptions>(100);

function decodeOptions(raw: RawOptions, problems: Problems): TextOptions {
  const read = optionReader(raw, problems);
  const options: TextOptions = {
    min: read.count('min'),
    max: read.count('max'),
    pattern: read.text('pattern'),
    autogeneratePattern: read.text('autogeneratePattern'),
    required: read.flag('required'),
    primaryKey: read.flag('primaryKey'),
  };
  if (options.max !== 0 && options.max < options.min)
    problems.add('max', fieldError('validation_min_greater_equal_than_required', { threshold: options.min }));
  if (options.primaryKey) checkPrimaryKey(raw, options, problems);
  const json = JSON.stringify(options);
  const accepted = acceptedOptions.find(json);
  if (accepted !== undefined) return accepted;
  const isAccepted = checkPatterns(options, problems);
  if (isAccepted && options.autogeneratePattern !== '') acceptedOptions.add(json, options);
  return options;
}

function checkPrimaryKey(raw: RawOptions, options: TextOptions, problems: Problems): void {
  if (raw['name'] !== 'id')
    problems.add('name', { code: 'validation_in_invalid', message: 'The primary key must be named "id".' });
  if (raw['hidden'] === true) problems.add('hidden', fieldError('validation_empty'));
  if (!options.required) problems.add('required', fieldError('validation_required'));
  if (options.pattern === '') problems.add('pattern', fieldError('validation_required'));
}

/** Checks both patterns; returns whether they have no problem. */
function checkPatterns(options: TextOptions, problems: Problems): boolean {
  const { pattern, autogeneratePattern } = options;
  const refused = patternProblem(() => checkPattern(pattern));
  if (refused !== undefined)
    problems.add('pattern', fieldError('validation_invalid_regex', { problem: refused }));
  if (autogeneratePattern === '') return refused === undefined;
  const error = checkGenerator(options, refused === undefined);
  if (error !== undefined) problems.add('autogeneratePattern', error);
  return refused === undefined && error === undefined;
}

/** Texts that are generated are checked, too, if the other options can check them. */
function checkGenerator(options: TextOptions, areChecked: boolean): FieldError | undefined {
  const { autogeneratePattern } = options;
  const refused = patternProblem(() => checkPattern(autogeneratePattern));
  if (refused !== undefined) return fieldError('validation_invalid_regex', { problem: refused });
  const problem = patternProblem(() => planOf(autogeneratePattern));
  if (problem !== undefined) return fieldError('validation_invalid_autogenerate_pattern', { problem });
  if (!areChecked) return undefined;
  const value = samplesOf(planOf(autogeneratePattern)).find((sample) => check(sample, options) !== undefined);
  return value === undefined
    ? undefined
    : fieldError('validation_invalid_autogenerate_pattern_value', { value });
}

/**
 * Returns samples of a plan: the first and the last choice everywhere, then mixtures. They are always the same, because a
 * definition that was accepted once must be accepted when it is decoded again.
 */
function samplesOf(plan: GeneratorPlan): readonly string[] {
  let state = 1;
  // Lehmer's generator with the multiplier of Park and Miller (1988).
  const mix = (count: number) => (state = (state * 48_271) % 0x7fffffff) % count;
  const picks = [() => 0, (count: number) => count - 1, ...Array.from({ length: SAMPLES - 2 }, () => mix)];
  return picks.map((pick) => generateFromPattern(plan, pick));
}

function generate({ autogeneratePattern }: TextOptions): string | undefined {
  return autogeneratePattern === '' ? undefined : generateFromPattern(planOf(autogeneratePattern));
}

function planOf(pattern: string): GeneratorPlan {
  return plans.findOrAdd(pattern, generatorPlan);
}

function check(stored: StoredValue, options: TextOptions): FieldError | undefined {
  if (typeof stored !== 'string') return fieldError('validation_unsupported_value_type');
  return (options.primaryKey ? checkId(stored, options) : undefined) ?? checkText(stored, options);
}

function checkId(id: string, options: TextOptions): FieldError | undefined {
  // Every text that is rejected below fails the default pattern or a short `max`.
  if (options.pattern === ID_PATTERN_DEFAULT && options.max !== 0 && options.max <= idBytesMax)
    return undefined;
  const ch = ID_FORBIDDEN.exec(id)?.[0];
  if (ch !== undefined) return fieldError('validation_forbidden_pk_character', { ch });
  if (ID_RESERVED.test(id)) return fieldError('validation_reserved_pk', { reserved: id });
  if (Buffer.byteLength(id) > idBytesMax)
    return fieldError('validation_max_text_constraint', { max: idBytesMax });
  return undefined;
}

function checkText(text: string, options: TextOptions): FieldError | undefined {
  if (text === '')
    return options.required || options.primaryKey ? fieldError('validation_required') : undefined;
  const { min } = options;
  const max = maxOf(options);
  // A text has at most as many code points as UTF-16 units and at least half as many: most texts need not be counted.
  const isPlain = text.length <= max && text.length >= min * 2;
  // Of a text that is longer than any with `max` code points, no more are counted than show it.
  const length = isPlain ? text.length : codePointsIn(text.slice(0, 2 * max + 2));
  if (length < min) return fieldError('validation_min_text_constraint', { min });
  if (length > max) return fieldError('validation_max_text_constraint', { max });
  const isWrong = options.pattern !== '' && !isMatch(options.pattern, text);
  return isWrong ? fieldError('validation_invalid_format') : undefined;
}

function maxOf({ max, pattern }: TextOptions): number {
  if (max === 0) return textLengthMaxDefault;
  return pattern === '' ? max : Math.min(max, matchedLengthMax(pattern));
}

function codePointsIn(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length - 1; at++) {
    const isPair = (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
    if (isPair) count--;
  }
  return count;
}

/** Returns the schema of the values that a text field accepts. Only `required` decides about an empty text, whatever the other options say. */
export function textSchema({
  min,
  max,
  pattern,
  required,
}: Pick<TextOptions, 'min' | 'max' | 'pattern' | 'required'>): JsonSchema {
  const { description, ...matched } = patternMembers(pattern);
  const short = { type: 'string', maxLength: max, ...(description === undefined ? {} : { description }) };
  const filled = { minLength: Math.max(1, min), ...matched };
  if (required) return { ...short, ...filled };
  if (min <= 1 && pattern === '') return short;
  return orEmpty(short, '', filled);
}

/** Describes in words a pattern whose RE2 syntax JSON Schema lacks or reads differently: as a `pattern` it would refuse valid values. */
function patternMembers(pattern: string): JsonSchema {
  if (pattern === '') return {};
  return isEcmaScript(pattern) ? { pattern } : { description: `Matches \`${pattern}\` (RE2).` };
}

function isEcmaScript(pattern: string): boolean {
  const bare = pattern.replaceAll(/\\[^sSpP]/g, '');
  // `\s`, `\p`, the dot, flags and `a{02}` compile in both syntaxes but match different texts.
  if (/\\|\.|\(\?[-ims]|[{,]0\d/.test(bare)) return false;
  try {
    return new RegExp(pattern, 'u').source !== '';
  } catch {
    return false;
  }
}
