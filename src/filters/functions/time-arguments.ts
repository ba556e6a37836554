/** A parsed format of strftime: engines never get a format that was not understood here. */
export interface TimeFormat {
  readonly text: string;
  readonly parts: readonly TimePart[];
}

/** A literal text, or a letter behind a percent sign. */
export type TimePart = { readonly text: string } | { readonly letter: TimeLetter };

/** All letters of SQLite's strftime except `J`, whose digits depend on the version of the engine. */
const timeLetters = [
  ...(['d', 'e', 'f', 'F', 'g', 'G', 'H', 'I', 'j', 'k', 'l', 'm', 'M'] as const),
  ...(['p', 'P', 'R', 's', 'S', 'T', 'u', 'U', 'V', 'w', 'W', 'Y'] as const),
];

export type TimeLetter = (typeof timeLetters)[number];

/** Parses a format; returns the part that is not understood, if there is one. */
export function parseTimeFormat(text: string): TimeFormat | { readonly unknown: string } {
  const parts: TimePart[] = [];
  for (const [found, percent] of text.matchAll(/[^%]+|(%[\s\S]?)/gu)) {
    if (percent === undefined || percent === '%%') {
      parts.push({ text: percent === undefined ? found : '%' });
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
export function parseTimeModifier(written: string): TimeModifier | undefined {
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
