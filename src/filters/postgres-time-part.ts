import { sql, type Sql } from '../sql/sql.ts';
import { calendarOf, dayFrom } from './postgres-calendar.ts';
import type { TimeLetter } from './time-format.ts';

/** The text that SQLite writes for a letter, from the columns of `calendarAt` in postgres-time.ts. */
export function postgresTimePart(letter: TimeLetter): Sql {
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
const dayOfYear = sql`(${day} - ${newYear(sql`"$calendar"."$year"`)})`;
/** The Thursday of the week: a week belongs to the year that its Thursday is in. */
const thursday = sql`(${day} + 3 - ${afterMonday})`;

const date = sql`${yearText(sql`"$calendar"."$year"`)} || '-' || ${digits(sql`"$calendar"."$month"`, 2)} || '-' || ${digits(sql`"$calendar"."$date"`, 2)}`;
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
