import { filterError, filterLimits, quote } from '../filter-error.ts';
import type { Operand } from '../operand.ts';
import type { CallNode, OperandNode } from '../parse.ts';
import { type CallContext, resolveArgument, wrongArgument, wrongCount } from './filter-function.ts';

/**
 * A call of strftime. As for SQLite, a time is a julian day, or a text: `2026-11-20`, `2026-11-20 09:35`,
 * `2026-11-20T09:35:20.114+01:00`, `09:35`, or a julian day in digits. It is converted to milliseconds first: a day that its month does
 * not have becomes one of the next month before the modifiers are applied.
 */
export interface TimeCall {
  readonly format: TimeFormat;
  readonly time: Operand | number | string | null;
  readonly modifiers: readonly TimeModifier[];
  /** The time that the text `now` in a row means, instead of that of the engine's clock. */
  readonly now: string;
}

/** Reads the arguments of strftime; `now` is the time of the statement. */
export function decodeTimeCall(node: CallNode, now: string, resolve: CallContext['resolve']): TimeCall {
  const [format, time, ...modifiers] = node.arguments;
  const { timeArgumentsMax } = filterLimits;
  if (format === undefined || node.arguments.length > timeArgumentsMax)
    throw wrongCount(`1 to ${timeArgumentsMax} arguments of "strftime"`, node);
  return {
    format: formatOf(format),
    modifiers: modifiers.map((modifier, index) => modifierOf(modifier, index === 0)),
    now,
    time: time === undefined ? now : timeOf(time, now, resolve),
  };
}

function formatOf(argument: OperandNode): TimeFormat {
  if (argument.kind !== 'text') throw wrongArgument('a format in quotes', argument);
  if (argument.value.length > filterLimits.timeFormatLengthMax) {
    throw filterError(
      `Expected at most ${filterLimits.timeFormatLengthMax} characters in a format; more`,
      argument.position,
    );
  }
  const format = parseTimeFormat(argument.value);
  if ('unknown' in format)
    throw filterError(`Unknown part ${quote(format.unknown)} of the format`, argument.position);
  return format;
}

function modifierOf(argument: OperandNode, isFirst: boolean): TimeModifier {
  if (argument.kind !== 'text') throw wrongArgument('a modifier in quotes', argument);
  const modifier = parseTimeModifier(argument.value);
  if (modifier === undefined)
    throw filterError(`Unknown modifier ${quote(argument.value)} of a time`, argument.position);
  if (modifier.kind === 'unixepoch' && !isFirst)
    throw filterError('Expected "unixepoch" before all other modifiers', argument.position);
  return modifier;
}

function timeOf(argument: OperandNode, now: string, resolve: CallContext['resolve']): TimeCall['time'] {
  if (argument.kind === 'call') throw wrongArgument('a field, a number or a text', argument);
  const value = resolveArgument(argument, resolve);
  return typeof value === 'string' ? readableTime(value, now) : value;
}

/** Reads a constant text as the engines read the text of a row; null when it is no time. */
function readableTime(text: string, now: string): string | null {
  const word = text.toLowerCase();
  if (word === 'now') return now;
  const hasManyDigits = new RegExp(`\\d{${filterLimits.timeDigitsMax + 1}}`).test(text);
  const isLong = Buffer.byteLength(text) > filterLimits.timeLengthMax;
  return isLong || hasManyDigits || word === 'subsec' || word === 'subsecond' ? null : text;
}

/** A parsed format of strftime: engines never get a format that was not understood here. */
interface TimeFormat {
  readonly text: string;
  readonly parts: readonly TimePart[];
}

/** A literal text, or a letter behind a percent sign. */
type TimePart = { readonly text: string } | { readonly letter: TimeLetter };

/** All letters of SQLite's strftime except `J`, whose digits depend on the version of the engine. */
const timeLetters = [
  ...(['d', 'e', 'f', 'F', 'g', 'G', 'H', 'I', 'j', 'k', 'l', 'm', 'M'] as const),
  ...(['p', 'P', 'R', 's', 'S', 'T', 'u', 'U', 'V', 'w', 'W', 'Y'] as const),
];

export type TimeLetter = (typeof timeLetters)[number];

/** Parses a format; returns the part that is not understood, if there is one. */
function parseTimeFormat(text: string): TimeFormat | { readonly unknown: string } {
  const parts: TimePart[] = [];
  for (const [match, percent] of text.matchAll(/[^%]+|(%[\s\S]?)/gu)) {
    if (percent === undefined || percent === '%%') {
      parts.push({ text: percent === undefined ? match : '%' });
      continue;
    }
    const letter = timeLetters.find((candidate) => `%${candidate}` === percent);
    if (letter === undefined) return { unknown: percent };
    parts.push({ letter });
  }
  return { text, parts };
}

/** A modifier of strftime, which turns a time into another; `text` is what SQLite gets. */
export type TimeModifier = (
  | { readonly kind: 'shift'; readonly ms: number }
  | { readonly kind: 'months'; readonly months: number }
  | { readonly kind: 'startOf'; readonly unit: 'day' | 'month' | 'year' }
  /** Moves to the next such day of the week, unless it already is one; 0 is Sunday. */
  | { readonly kind: 'weekday'; readonly day: number }
  /** The time is not a julian day but seconds since 1970. Allowed only as the first modifier. */
  | { readonly kind: 'unixepoch' }
) & { readonly text: string };

/** Parses a modifier; undefined for a text that is none, or whose shift exceeds the range of dates. */
function parseTimeModifier(written: string): TimeModifier | undefined {
  const text = written.toLowerCase();
  if (text === 'unixepoch') return { kind: 'unixepoch', text };
  const unit = /^start of (day|month|year)$/.exec(text)?.[1];
  if (unit === 'day' || unit === 'month' || unit === 'year') return { kind: 'startOf', unit, text };
  const day = /^weekday ([0-6])$/.exec(text)?.[1];
  if (day !== undefined) return { kind: 'weekday', day: Number(day), text };
  return parseShift(text);
}

/** Units of a shift: `max` spans from SQLite's first day to its last; `ms` or `months` is the size of one. */
const units = new Map([
  ['second', { max: 464_269_060_800, ms: 1_000 }],
  ['minute', { max: 7_737_817_680, ms: 60_000 }],
  ['hour', { max: 128_963_628, ms: 3_600_000 }],
  ['day', { max: 5_373_484, ms: 86_400_000 }],
  ['month', { max: 176_545, months: 1 }],
  ['year', { max: 14_712, months: 12 }],
] as const);

function parseShift(text: string): TimeModifier | undefined {
  const [, sign = '', digits = '', name] =
    /^([+-]?)(\d{1,12}(?:\.\d{1,3})?) ([a-z]{3,6}?)s?$/.exec(text) ?? [];
  const unit = [...units].find(([candidate]) => candidate === name)?.[1];
  const size = Number(digits);
  if (unit === undefined || size > unit.max) return undefined;
  const count = sign === '-' ? -size : size;
  if ('ms' in unit) {
    // Rounds half away from zero, as SQLite does.
    const ms = Math.trunc(count * unit.ms + (count < 0 ? -0.5 : 0.5));
    return { kind: 'shift', ms, text };
  }
  return Number.isInteger(count) ? { kind: 'months', months: count * unit.months, text } : undefined;
}
