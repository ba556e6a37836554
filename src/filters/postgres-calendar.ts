import { sql, type Sql } from '../sql/sql.ts';

/**
 * The calendar of SQLite's strftime in PostgreSQL's SQL. A moment is a bigint: milliseconds since the noon at which julian day 0 begins.
 * A day is the number of the julian day that begins at its noon. Years are astronomical: 0 is 1 BC.
 */
const dayMs: Sql = sql`86400000`;
const noonMs: Sql = sql`43200000`;

/** Returns the moment, or NULL outside of 24 November -4713 to 31 December 9999: SQLite's range, for which a day can be computed. */
export function knownMoment(moment: Sql): Sql {
  return sql`CASE WHEN ${moment} BETWEEN 0 AND 464269060799999 THEN ${moment} END`;
}

export function dayOf(moment: Sql): Sql {
  return sql`((${moment} + ${noonMs}) / ${dayMs})::integer`;
}

/** Returns the milliseconds since midnight. */
export function clockOf(moment: Sql): Sql {
  return sql`((${moment} + ${noonMs}) % ${dayMs})::integer`;
}

export function toMoment(day: Sql, clock: Sql): Sql {
  return sql`((${day})::bigint * ${dayMs} - ${noonMs} + ${clock})`;
}

export interface CalendarDay {
  readonly year: Sql;
  readonly month: Sql;
  readonly date: Sql;
}

/** Computes a day; dates beyond the end of a month count into the next. In integers, as make_date() fails for an invalid date. */
export function dayFrom({ year, month, date }: CalendarDay): Sql {
  // Years begin in March here, so that a leap day is the last day of its year.
  const isBeforeMarch = sql`(${month} <= 2)::integer`;
  const years = sql`(${year} - ${isBeforeMarch})`;
  const months = sql`(${month} + 12 * ${isBeforeMarch} + 1)`;
  const centuries = sql`((${years} + 4800) / 100)`;
  return sql`(36525 * (${years} + 4716) / 100 + 306001 * ${months} / 10000 + ${date} - ${centuries} + ${centuries} / 4 - 1486)`;
}

/** A FROM item with a day's "$year", "$month" and "$date"; NULL for NULL. */
export function calendarOf(day: Sql): Sql {
  const dates = sql`(SELECT date '2000-01-01' + (${day} - 2451545) AS "$of" OFFSET 0) AS "$dates"`;
  const part = (name: Sql): Sql => sql`extract(${name} FROM "$of")::integer`;
  const year = part(sql`year`);
  // PostgreSQL has no year 0.
  return sql`(SELECT ${year} + (${year} < 0)::integer AS "$year", ${part(sql`month`)} AS "$month", ${part(sql`day`)} AS "$date" FROM ${dates} OFFSET 0)`;
}
