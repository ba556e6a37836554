import { unreachable } from '../base/assert.ts';
import { identifier, joinSql, sql, type Sql } from '../sql/sql.ts';
import type { TimeCall } from './dialect.ts';
import { isOperand, type Operand } from './operand.ts';
import { calendarOf, clockOf, dayFrom, dayOf, knownMoment, toMoment } from './postgres-calendar.ts';
import { readTime } from './postgres-read-time.ts';
import { postgresTimePart } from './postgres-time-part.ts';
import { valueOf, type Value } from './postgres-value.ts';
import type { TimeModifier } from './time-modifier.ts';

/**
 * SQLite's strftime as a chain of lateral joins: each modifier computes a moment from the one before, and the last one becomes a text.
 * OFFSET 0 keeps the planner from evaluating a step once for each mention in the next.
 */
export function postgresTime({ format, time, modifiers, now }: TimeCall): Operand {
  const isUnixTime = modifiers[0]?.kind === 'unixepoch';
  const items = [readTime(isOperand(time) ? valueOf(time) : constantOf(time), { isUnixTime, now })];
  let moment = sql`"$start"."$moment"`;
  for (const [index, modifier] of modifiers.entries()) {
    const alias = identifier(`$step${index}`);
    items.push(sql`LATERAL (SELECT ${moved(moment, modifier)} AS "$moment" OFFSET 0) AS ${alias}`);
    moment = sql`${alias}."$moment"`;
  }
  items.push(sql`LATERAL (SELECT ${knownMoment(moment)} AS "$moment" OFFSET 0) AS "$end"`);
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

/** Evaluates an expression on the calendar of a moment; NULL for a moment out of range, as SQLite gives on an error. */
function onCalendar(moment: Sql, expression: Sql): Sql {
  const known = sql`(SELECT ${knownMoment(moment)} AS "$moment" OFFSET 0) AS "$known"`;
  return sql`(SELECT ${expression} FROM ${known}, ${calendarAt(sql`"$known"."$moment"`)})`;
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
