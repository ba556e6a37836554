import { type Timestamp, toTimestamp } from './timestamp.ts';

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
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

const WIRE = /^\d{4}-[01]\d-[0-3]\d [0-2]\d:[0-5]\d:[0-5]\d\.\d{3}Z$/;
/** The zero of Go's time type. */
const ZERO = '0001-01-01 00:00:00.000Z';

/**
 * Reads a date in one of the layouts of http-api.md section 9; without a zone it is in UTC, and blanks around it are ignored. An empty
 * text is empty, and so is the zero of Go's time type, which its clients send for none. Returns undefined for a text that is no date,
 * a day that does not exist included.
 */
export function readDate(text: string): Timestamp | undefined {
  if (isTimestamp(text)) return text;
  if (text.length > lengthMax) return undefined;
  const trimmed = text.trim();
  if (trimmed === '') return '';
  for (const layout of LAYOUTS) {
    const parts = layout.exec(trimmed)?.groups;
    if (parts !== undefined) return fromParts(parts);
  }
  return undefined;
}

/** As {@link readDate}, but also reads a year (`2026`) and a month (`2026-11`), as their first instant. */
export function readDateOrPeriod(text: string): Timestamp | undefined {
  const [period, year, month = '01'] = /^\s*(\d{4})(?:-(\d\d))?\s*$/.exec(text) ?? [];
  return readDate(period === undefined ? text : `${year}-${month}-01`);
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

function fromParts(parts: Parts): Timestamp | undefined {
  const [year, month, day] = [yearOf(parts), monthOf(parts), Number(parts['day'])];
  const [hour, minute, second] = [
    toNumber(parts['hour']),
    toNumber(parts['minute']),
    toNumber(parts['second']),
  ];
  const [offsetHour, offsetMinute] = [toNumber(parts['offsetHour']), toNumber(parts['offsetMinute'])];
  const millisecond = Number((parts['fraction'] ?? '').slice(0, 3).padEnd(3, '0'));
  // 24:00 is the midnight at which a day ends (ISO 8601-1:2019/Amd 1).
  const isEndOfDay = hour === 24 && minute === 0 && second === 0 && Number(parts['fraction'] ?? 0) === 0;
  if ((hour > 23 && !isEndOfDay) || minute > 59 || second > 59) return undefined;
  if (offsetHour > 24 || offsetMinute > 59) return undefined;

  // Not Date.UTC alone: it reads the years 0 to 99 as 1900 to 1999.
  const midnight = new Date(Date.UTC(2000, 0, 1));
  midnight.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have would silently become one of the next month.
  if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day) return undefined;

  const offset = (offsetHour * 60 + offsetMinute) * (parts['sign'] === '-' ? -1 : 1);
  const minutes = hour * 60 + minute - offset;
  return toDate(midnight.getTime() + minutes * MINUTE_MS + second * 1_000 + millisecond);
}

/** Returns a moment in the wire format; undefined where its year has no four digits. */
export function toDate(epochMs: number): Timestamp | undefined {
  if (!(epochMs >= FIRST_MS && epochMs <= LAST_MS)) return undefined;
  const timestamp = toTimestamp(epochMs);
  return timestamp === ZERO ? '' : timestamp;
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
