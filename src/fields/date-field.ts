import type { FieldError } from '../base/errors.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
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

/** Days of each month, from index 1 on; those of February depend on the year. */
const DAYS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';
const MONTH = `(?<month>${MONTHS.join('|')})`;
const DATE = '(?<year>\\d{4})-(?<month>\\d\\d)-(?<day>\\d\\d)';
const CLOCK = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)(?:[.,](?<fraction>\\d{1,9}))?';
const OFFSET = '(?<sign>[+-])(?<offsetHour>\\d\\d):?(?<offsetMinute>\\d\\d)';
/** A zone name has no known offset and is read as UTC, as in the reference, unless it has the form GMT+3. */
const NAMED = '(?:GMT(?<sign>[+-])(?<offsetHour>\\d{1,2})|[A-Z]{3,4}|[A-Z]{4}T)';

/** Every layout that is accepted. Each quantifier is bounded, so a match takes bounded time. */
const LAYOUTS = [
  DATE,
  `${DATE}T${CLOCK}(?:Z|${OFFSET})?`,
  `${DATE} ${CLOCK}(?:Z| ?${OFFSET}(?: [A-Z]{3,5})?)?`,
  // RFC 1123, 822 and 850, each with a named or a numeric zone.
  `${DAY}, (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${CLOCK} (?:${NAMED}|${OFFSET})`,
  `(?<day>\\d\\d) ${MONTH} (?<shortYear>\\d\\d) (?<hour>\\d\\d):(?<minute>\\d\\d) (?:${NAMED}|${OFFSET})`,
  `${LONG_DAY}, (?<day>\\d\\d)-${MONTH}-(?<shortYear>\\d\\d) ${CLOCK} ${NAMED}`,
  // ANSI C, Unix `date`, Ruby.
  `${DAY} ${MONTH} (?<day>[ \\d]?\\d) ${CLOCK} (?<year>\\d{4})`,
  `${DAY} ${MONTH} (?<day>[ \\d]?\\d) ${CLOCK} ${NAMED} (?<year>\\d{4})`,
  `${DAY} ${MONTH} (?<day>\\d\\d) ${CLOCK} ${OFFSET} (?<year>\\d{4})`,
  `(?<day>\\d\\d) ${MONTH} (?<year>\\d{4})`,
].map((layout) => new RegExp(`^${layout}$`, 'i'));

/** The longest layout (RFC 850 with nanoseconds) has 47 characters. */
const lengthMax = 64;
const MINUTE_MS = 60_000;

const WIRE = /^\d{4}-[01]\d-[0-3]\d [0-2]\d:[0-5]\d:[0-5]\d\.\d{3}Z$/;
/** The zero of the reference's time type, which counts as empty there. */
const ZERO = '0001-01-01 00:00:00.000Z';

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
    given: {
      ...filledText(required),
      description: `A moment, as \`2026-11-20 09:35:20.114Z\`.${between(min, max)}`,
    },
    answered: momentSchema,
    example: exampleMoment,
  }),
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

/** Parses a text in one of the layouts of http-api.md section 9; without a zone it is in UTC. Returns an empty text for everything else. */
export function parseDate(text: string): Timestamp {
  if (isTimestamp(text)) return text;
  if (text.length > lengthMax) return '';
  for (const layout of LAYOUTS) {
    const parts = layout.exec(text)?.groups;
    if (parts !== undefined) return fromParts(parts);
  }
  return '';
}

/** Whether the text already has the stored form. Most dates come as they were answered before, and skip the layouts. */
function isTimestamp(text: string): boolean {
  if (!WIRE.test(text) || text === ZERO) return false;
  const [year, month, day] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8, 10))];
  return day >= 1 && day <= daysIn(year, month) && text.slice(11, 13) <= '23';
}

/** Returns the days of a month; 0 for a month that does not exist. */
function daysIn(year: number, month: number): number {
  if (month !== 2) return DAYS[month] ?? 0;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return isLeap ? 29 : 28;
}

type Parts = Readonly<Record<string, string | undefined>>;

function fromParts(parts: Parts): Timestamp {
  const [year, month, day] = [yearOf(parts), monthOf(parts), Number(parts['day'])];
  const [hour, minute, second] = [
    toNumber(parts['hour']),
    toNumber(parts['minute']),
    toNumber(parts['second']),
  ];
  const [offsetHour, offsetMinute] = [toNumber(parts['offsetHour']), toNumber(parts['offsetMinute'])];
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 24 || offsetMinute > 59) return '';

  const millisecond = Number((parts['fraction'] ?? '').slice(0, 3).padEnd(3, '0'));
  // Not Date.UTC alone: it reads the years 0 to 99 as 1900 to 1999.
  const local = new Date(Date.UTC(2000, 0, 1, hour, minute, second, millisecond));
  local.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have would silently become one of the next month.
  if (local.getUTCMonth() !== month - 1 || local.getUTCDate() !== day) return '';

  const offset = (offsetHour * 60 + offsetMinute) * (parts['sign'] === '-' ? -1 : 1);
  return toWire(local.getTime() - offset * MINUTE_MS);
}

function toWire(epochMs: number): Timestamp {
  const timestamp = toTimestamp(epochMs);
  // An offset can push the moment out of the four-digit years.
  return /^\d{4}-/.test(timestamp) && timestamp !== ZERO ? timestamp : '';
}

function yearOf(parts: Parts): number {
  if (parts['shortYear'] === undefined) return Number(parts['year']);
  const year = Number(parts['shortYear']);
  return year >= 69 ? 1900 + year : 2000 + year;
}

function monthOf(parts: Parts): number {
  const month = parts['month'] ?? '';
  return MONTHS.indexOf(month.toLowerCase()) + 1 || Number(month);
}

function toNumber(part: string | undefined): number {
  return Number(part ?? 0);
}

function between(min: string, max: string): string {
  return `${min === '' ? '' : ` Not before ${min}.`}${max === '' ? '' : ` Not after ${max}.`}`;
}
