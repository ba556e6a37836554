import { unreachable } from '../../base/assert.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { identifier, joinSql, sql, type Sql } from '../../sql/sql.ts';
import { filterLimits } from '../filter-error.ts';
import { isOperand, type Operand } from '../operand.ts';
import { noNumber, noText, numberOrText, type Value, valueOf, withSources } from '../postgres-value.ts';
import { valueOf as sqliteValueOf } from '../sqlite-value.ts';
import { type FilterFunction, mapOperand } from './filter-function.ts';
import { decodeTimeCall, type TimeCall, type TimeLetter, type TimeModifier } from './time-arguments.ts';

/** A time as a text; the empty text where the value is no time. */
export const strftime: FilterFunction = {
  name: 'strftime',
  resolve: (node, context) => {
    const call = decodeTimeCall(node, toTimestamp(context.now), context.resolve);
    const make = textOn[context.engine];
    return isOperand(call.time) ? mapOperand(call.time, (time) => make({ ...call, time })) : make(call);
  },
};

const textOn = { sqlite: sqliteStrftime, postgres: postgresStrftime } as const;

/** Calls SQLite's strftime. Results that SQLite leaves undefined, or reads from its own clock, are fixed first, so that PostgreSQL returns the same. */
function sqliteStrftime({ format, time, modifiers, now }: TimeCall): Operand {
  const value = isOperand(time) ? timeOf(time, now) : sql`${time}`;
  const [first, ...rest] = modifiers;
  const steps =
    first?.kind === 'unixepoch'
      ? ['unixepoch', settle, ...rest.flatMap(stepsOf)]
      : [settle, ...modifiers.flatMap(stepsOf)];
  const callArguments = joinSql([sql`${format.text}`, value, ...steps.map((step) => sql`${step}`)], ', ');
  // The cast gives the expression the affinity of a text column.
  return { sql: sql`CAST(COALESCE(strftime(${callArguments}), '') AS TEXT)`, kind: 'text' };
}

/** A shift by 0, which makes SQLite normalize a date such as 31 February to one that exists, and one before all days to NULL. */
const settle = '+0 seconds';

function stepsOf({ kind, text }: TimeModifier): readonly string[] {
  return kind === 'startOf' ? [text, settle] : [text];
}

function timeOf(time: Operand, now: string): Sql {
  const value = sqliteValueOf(time);
  if (time.kind === 'number' || time.kind === 'bool') return value;
  const tooManyDigits = `*${'[0-9]'.repeat(filterLimits.timeDigitsMax + 1)}*`;
  const isOdd = sql`(octet_length(${value}) > ${filterLimits.timeLengthMax} OR ${value} GLOB ${tooManyDigits} OR lower(${value}) IN ('subsec', 'subsecond'))`;
  const isNow = sql`lower(${value}) = 'now'`;
  return sql`CASE WHEN typeof(${value}) <> 'text' THEN ${value} WHEN ${isNow} THEN ${now} WHEN NOT ${isOdd} THEN ${value} END`;
}

/**
 * SQLite's strftime as a chain of lateral joins: each modifier computes a moment from the one before, and the last one becomes a text.
 * OFFSET 0 keeps the planner from evaluating a step once for each mention in the next.
 */
function postgresStrftime({ format, time, modifiers, now }: TimeCall): Operand {
  const isUnixTime = modifiers[0]?.kind === 'unixepoch';
  const items = [readTime(isOperand(time) ? valueOf(time) : constantOf(time), { isUnixTime, now })];
  let moment = sql`"$start"."$moment"`;
  for (const [index, modifier] of modifiers.entries()) {
    const alias = identifier(`$step${index}`);
    items.push(sql`LATERAL (SELECT ${moved(moment, modifier)} AS "$moment" OFFSET 0) AS ${alias}`);
    moment = sql`${alias}."$moment"`;
  }
  items.push(sql`LATERAL (SELECT ${momentInRange(moment)} AS "$moment" OFFSET 0) AS "$end"`);
  const parts = format.parts.map((part) =>
    'text' in part ? sql`${part.text}::text` : postgresTimePart(part.letter),
  );
  const text = sql`SELECT array_to_string(ARRAY[${joinSql(parts, ', ')}]::text[], '') FROM ${joinSql(items, ', ')}, ${calendarAt(sql`"$end"."$moment"`)} WHERE "$at"."$moment" IS NOT NULL`;
  return { sql: sql`(COALESCE((${text}), '') COLLATE "C")`, kind: 'text' };
}

function constantOf(time: string | number | null): Value {
  if (time === null) return {};
  return typeof time === 'number' ? { number: sql`${time}::double precision` } : { text: sql`${time}::text` };
}

/** FROM items: "$at" with "$moment", "$day" and "$clock" of a moment, and "$calendar" with the day's "$year", "$month" and "$date". */
function calendarAt(moment: Sql): Sql {
  const at = sql`LATERAL (SELECT ${moment} AS "$moment", ${dayOf(moment)} AS "$day", ${clockOf(moment)} AS "$clock" OFFSET 0) AS "$at"`;
  return sql`${at}, LATERAL ${calendarOf(sql`"$at"."$day"`)} AS "$calendar"`;
}

function moved(moment: Sql, modifier: TimeModifier): Sql {
  switch (modifier.kind) {
    case 'unixepoch':
      return moment;
    case 'shift':
      return sql`${moment} + ${modifier.ms}::bigint`;
    case 'months':
      return onCalendar(moment, monthsLater(modifier.months));
    case 'startOf': {
      const [year, month, date] = [
        sql`"$calendar"."$year"`,
        sql`"$calendar"."$month"`,
        sql`"$calendar"."$date"`,
      ];
      const first = sql`1`;
      const { unit } = modifier;
      const day = dayFrom({
        year,
        month: unit === 'year' ? first : month,
        date: unit === 'day' ? date : first,
      });
      return onCalendar(moment, toMoment(day, sql`0`));
    }
    case 'weekday': {
      const days = sql`(${modifier.day}::integer + 6 - "$day" % 7) % 7`;
      return onCalendar(moment, sql`"$at"."$moment" + (${days})::bigint * 86400000`);
    }
    default:
      return unreachable(modifier);
  }
}

/** Evaluates an expression on the calendar of a moment; NULL for a moment out of range, as SQLite returns on an error. */
function onCalendar(moment: Sql, expression: Sql): Sql {
  const fromItem = sql`(SELECT ${momentInRange(moment)} AS "$moment" OFFSET 0) AS "$known"`;
  return sql`(SELECT ${expression} FROM ${fromItem}, ${calendarAt(sql`"$known"."$moment"`)})`;
}

/** Adds months; a date that the month does not have becomes one of the next month. */
function monthsLater(months: number): Sql {
  // 40,000 years are added before the division and taken off after it, so that it never rounds a negative number.
  const sum = sql`(("$calendar"."$year" + 40000) * 12 + "$calendar"."$month" - 1 + ${months}::integer)`;
  const year = sql`(${sum} / 12 - 40000)`;
  const moment = toMoment(
    dayFrom({ year, month: sql`(${sum} % 12 + 1)`, date: sql`"$calendar"."$date"` }),
    sql`"$clock"`,
  );
  return sql`CASE WHEN ${year} BETWEEN -4713 AND 9999 THEN ${moment} END`;
}

/** The text that SQLite writes for a letter, from the columns of `calendarAt` in strftime.ts. */
function postgresTimePart(letter: TimeLetter): Sql {
  return parts[letter];
}

const moment = sql`"$at"."$moment"`;
const day = sql`"$day"`;
const hour = sql`("$clock" / 3600000)`;
const hourOfHalf = sql`((${hour} + 11) % 12 + 1)`;
const minute = sql`("$clock" / 60000 % 60)`;
const second = sql`("$clock" / 1000 % 60)`;
/** Days since Monday, from 0. Julian day 0 was a Monday. */
const afterMonday = sql`(${day} % 7)`;
const afterSunday = sql`((${day} + 1) % 7)`;

const date = sql`${yearText(sql`"$calendar"."$year"`)} || '-' || ${digits(sql`"$calendar"."$month"`, 2)} || '-' || ${digits(sql`"$calendar"."$date"`, 2)}`;

const dayOfYear = sql`(${day} - ${newYear(sql`"$calendar"."$year"`)})`;
/** The Thursday of the week: a week belongs to the year that its Thursday is in. */
const thursday = sql`(${day} + 3 - ${afterMonday})`;

const clock = sql`${digits(hour, 2)} || ':' || ${digits(minute, 2)}`;

const parts: Readonly<Record<TimeLetter, Sql>> = {
  d: digits(sql`"$calendar"."$date"`, 2),
  e: blanks(sql`"$calendar"."$date"`),
  f: sql`${digits(second, 2)} || '.' || ${digits(sql`("$clock" % 1000)`, 3)}`,
  F: date,
  g: ofWeek(
    sql`CASE WHEN "$of"."$year" % 100 < 0 THEN ("$of"."$year" % 100)::text ELSE ${digits(sql`("$of"."$year" % 100)`, 2)} END`,
  ),
  G: ofWeek(yearText(sql`"$of"."$year"`)),
  H: digits(hour, 2),
  I: digits(hourOfHalf, 2),
  j: digits(sql`(${dayOfYear} + 1)`, 3),
  k: blanks(hour),
  l: blanks(hourOfHalf),
  m: digits(sql`"$calendar"."$month"`, 2),
  M: digits(minute, 2),
  p: sql`CASE WHEN ${hour} < 12 THEN 'AM' ELSE 'PM' END`,
  P: sql`CASE WHEN ${hour} < 12 THEN 'am' ELSE 'pm' END`,
  R: clock,
  s: sql`(${moment} / 1000 - 210866760000)::text`,
  S: digits(second, 2),
  T: sql`${clock} || ':' || ${digits(second, 2)}`,
  u: sql`(${afterMonday} + 1)::text`,
  U: digits(sql`((${dayOfYear} - ${afterSunday} + 7) / 7)`, 2),
  V: ofWeek(digits(sql`((${thursday} - ${newYear(sql`"$of"."$year"`)}) / 7 + 1)`, 2)),
  w: sql`${afterSunday}::text`,
  W: digits(sql`((${dayOfYear} - ${afterMonday} + 7) / 7)`, 2),
  Y: yearText(sql`"$calendar"."$year"`),
};

function digits(number: Sql, count: number): Sql {
  return count === 2 ? sql`lpad(${number}::text, 2, '0')` : sql`lpad(${number}::text, 3, '0')`;
}

function blanks(number: Sql): Sql {
  return sql`lpad(${number}::text, 2, ' ')`;
}

/** A year of at least four characters, including the sign. */
function yearText(year: Sql): Sql {
  return sql`CASE WHEN ${year} < 0 THEN '-' || lpad((-${year})::text, CASE WHEN ${year} < -999 THEN 4 ELSE 3 END, '0') ELSE lpad(${year}::text, 4, '0') END`;
}

function newYear(year: Sql): Sql {
  return dayFrom({ year, month: sql`1`, date: sql`1` });
}

/** A text made from "$of"."$year", the year that the week belongs to. */
function ofWeek(text: Sql): Sql {
  return sql`(SELECT ${text} FROM ${calendarOf(thursday)} AS "$of")`;
}

/**
 * The calendar of SQLite's strftime in PostgreSQL's SQL. A moment is a bigint: milliseconds since the noon at which julian day 0 begins.
 * A day is the number of the julian day that begins at its noon. Years are astronomical: 0 is 1 BC.
 */
const dayMs: Sql = sql`86400000`;
const noonMs: Sql = sql`43200000`;

/** Returns the moment, or NULL outside of 24 November -4713 to 31 December 9999: SQLite's range, for which a day can be computed. */
function momentInRange(moment: Sql): Sql {
  return sql`CASE WHEN ${moment} BETWEEN 0 AND 464269060799999 THEN ${moment} END`;
}

function dayOf(moment: Sql): Sql {
  return sql`((${moment} + ${noonMs}) / ${dayMs})::integer`;
}

/** Returns the milliseconds since midnight. */
function clockOf(moment: Sql): Sql {
  return sql`((${moment} + ${noonMs}) % ${dayMs})::integer`;
}

function toMoment(day: Sql, clock: Sql): Sql {
  return sql`((${day})::bigint * ${dayMs} - ${noonMs} + ${clock})`;
}

export interface CalendarDay {
  readonly year: Sql;
  readonly month: Sql;
  readonly date: Sql;
}

/** Computes a day; dates beyond the end of a month count into the next. In integers, as make_date() fails for an invalid date. */
function dayFrom({ year, month, date }: CalendarDay): Sql {
  // Years begin in March here, so that a leap day is the last day of its year.
  const isBeforeMarch = sql`(${month} <= 2)::integer`;
  const years = sql`(${year} - ${isBeforeMarch})`;
  const months = sql`(${month} + 12 * ${isBeforeMarch} + 1)`;
  const centuries = sql`((${years} + 4800) / 100)`;
  return sql`(36525 * (${years} + 4716) / 100 + 306001 * ${months} / 10000 + ${date} - ${centuries} + ${centuries} / 4 - 1486)`;
}

/** A FROM item with a day's "$year", "$month" and "$date"; NULL for NULL. */
function calendarOf(day: Sql): Sql {
  const dates = sql`(SELECT date '2000-01-01' + (${day} - 2451545) AS "$of" OFFSET 0) AS "$dates"`;
  const part = (name: Sql): Sql => sql`extract(${name} FROM "$of")::integer`;
  const year = part(sql`year`);
  // PostgreSQL has no year 0.
  return sql`(SELECT ${year} + (${year} < 0)::integer AS "$year", ${part(sql`month`)} AS "$month", ${part(sql`day`)} AS "$date" FROM ${dates} OFFSET 0)`;
}

export interface TimeReading {
  /** Numbers are seconds since 1970 instead of julian days; only texts that are numbers are then times. */
  readonly isUnixTime: boolean;
  /** The time of the text `now`. */
  readonly now: string;
}

/**
 * FROM items that read a time: its moment is `"$start"."$moment"`, NULL for a value that is no time. They must not fail for any value.
 */
function readTime(value: Value, { isUnixTime, now }: TimeReading): Sql {
  const { number = noNumber, text = noText } = value;
  const input = sql`(SELECT ${withSources(number, value)} AS "$number", ${withSources(sql`${text}`, value)} AS "$text" OFFSET 0) AS "$given"`;
  const plain = sql`(SELECT "$given"."$number", (${understood(sql`"$given"."$text"`, now)}) COLLATE "C" AS "$text" OFFSET 0) AS "$plain"`;
  const { number: either = noNumber } = numberOrText({
    number: sql`"$plain"."$number"`,
    text: sql`"$plain"."$text"`,
  });
  const parts = sql`(SELECT (${either})::double precision AS "$number", regexp_match("$plain"."$text", ${pattern}::text) AS "$found" OFFSET 0) AS "$parts"`;
  const fields = sql`(SELECT "$parts"."$number", ${fieldsOf} OFFSET 0) AS "$fields"`;
  const start = isUnixTime ? fromUnixTime : fromJulianDay;
  return sql`${input}, LATERAL ${plain}, LATERAL ${parts}, LATERAL ${fields}, LATERAL (SELECT ${start} AS "$moment" OFFSET 0) AS "$start"`;
}

/** The text to read, as in strftime.ts: `now` is replaced, and texts with too many characters or digits become NULL. */
function understood(text: Sql, now: string): Sql {
  const isNow = sql`lower(${text}) = 'now'`;
  const hasManyDigits = sql`${text} ~ ${`[0-9]{${filterLimits.timeDigitsMax + 1}}`}::text`;
  return sql`CASE WHEN ${isNow} THEN ${now}::text WHEN octet_length(${text}) <= ${filterLimits.timeLengthMax}::integer AND NOT ${hasManyDigits} THEN ${text} END`;
}

/** Patterns without question marks, which would be placeholders. `fieldsOf` refers to their groups by number. */
const datePattern = '((-{0,1}[0-9]{4})-([0-9]{2})-([0-9]{2})[[:space:]T]*)';
const zone = '([zZ]|([+-])([0-9]{2}):([0-9]{2}))';
const clockPattern = `(([0-9]{2}):([0-9]{2})(:([0-9]{2})([.][0-9]+){0,1}){0,1}[[:space:]]*${zone}{0,1}[[:space:]]*)`;
const pattern = `^${datePattern}{0,1}${clockPattern}{0,1}$`;

/** The fields of a time. Without a date it is on 1 January 2000. */
const fieldsOf: Sql = sql`COALESCE("$found"[1], "$found"[5]) IS NOT NULL AS "$isTime", COALESCE("$found"[2], '2000')::integer AS "$year", COALESCE("$found"[3], '1')::integer AS "$month", COALESCE("$found"[4], '1')::integer AS "$date", COALESCE("$found"[6], '0')::integer AS "$hour", COALESCE("$found"[7], '0')::integer AS "$minute", COALESCE("$found"[9], '0')::integer AS "$second", COALESCE('0' || "$found"[10], '0')::double precision AS "$fraction", CASE "$found"[12] WHEN '-' THEN -1 ELSE 1 END AS "$sign", COALESCE("$found"[13], '0')::integer AS "$zoneHour", COALESCE("$found"[14], '0')::integer AS "$zoneMinute"`;

const isValid: Sql = sql`"$isTime" AND "$year" >= -4713 AND "$month" BETWEEN 1 AND 12 AND "$date" BETWEEN 1 AND 31 AND "$hour" <= 24 AND "$minute" <= 59 AND "$second" <= 59 AND "$zoneHour" <= 14 AND "$zoneMinute" <= 59`;

/** The seconds in milliseconds, rounded as SQLite does, but never up to the next second. */
const secondsMs: Sql = sql`trunc(("$second" + CASE WHEN "$fraction" > 0.999 THEN 0.999 ELSE "$fraction" END) * 1000 + 0.5)::integer`;
const clockMs: Sql = sql`"$hour" * 3600000 + "$minute" * 60000 + ${secondsMs} - "$sign" * ("$zoneHour" * 60 + "$zoneMinute") * 60000`;
const written: Sql = toMoment(
  dayFrom({ year: sql`"$year"`, month: sql`"$month"`, date: sql`"$date"` }),
  clockMs,
);

/** A number, or a text that looks like one, is a julian day and nothing else. The range is checked, as the bigint could overflow. */
const fromJulianDay: Sql = sql`CASE WHEN "$fields"."$number" IS NULL THEN CASE WHEN ${isValid} THEN ${written} END WHEN "$fields"."$number" >= 0 AND "$fields"."$number" < 5373484.5 THEN trunc("$fields"."$number" * 86400000 + 0.5)::bigint END`;
const fromUnixTime: Sql = sql`CASE WHEN abs("$fields"."$number") < 1e12 AND "$fields"."$number" * 1000 + 210866760000000 >= 0 THEN trunc(("$fields"."$number" * 1000 + 210866760000000) + 0.5)::bigint END`;
