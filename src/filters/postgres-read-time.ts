import { sql, type Sql } from '../sql/sql.ts';
import { filterLimits } from './filter-limits.ts';
import { dayFrom, toMoment } from './postgres-calendar.ts';
import { noNumber, noText, numberOrText, withSources, type Value } from './postgres-value.ts';

export interface TimeReading {
  /** Numbers are seconds since 1970 instead of julian days; only texts that are numbers are then times. */
  readonly isUnixTime: boolean;
  /** The time that the text `now` stands for. */
  readonly now: string;
}

/**
 * FROM items that read a time: its moment is `"$start"."$moment"`, NULL for a value that is no time. They must not fail for any value.
 */
export function readTime(value: Value, { isUnixTime, now }: TimeReading): Sql {
  const { number = noNumber, text = noText } = value;
  const given = sql`(SELECT ${withSources(number, value)} AS "$number", ${withSources(sql`${text}`, value)} AS "$text" OFFSET 0) AS "$given"`;
  const plain = sql`(SELECT "$given"."$number", (${understood(sql`"$given"."$text"`, now)}) COLLATE "C" AS "$text" OFFSET 0) AS "$plain"`;
  const { number: either = noNumber } = numberOrText({
    number: sql`"$plain"."$number"`,
    text: sql`"$plain"."$text"`,
  });
  const parts = sql`(SELECT (${either})::double precision AS "$number", regexp_match("$plain"."$text", ${pattern}::text) AS "$found" OFFSET 0) AS "$parts"`;
  const fields = sql`(SELECT "$parts"."$number", ${fieldsOf} OFFSET 0) AS "$fields"`;
  const start = isUnixTime ? fromUnixTime : fromJulianDay;
  return sql`${given}, LATERAL ${plain}, LATERAL ${parts}, LATERAL ${fields}, LATERAL (SELECT ${start} AS "$moment" OFFSET 0) AS "$start"`;
}

/** The text to read, as in sqlite-time.ts: `now` is replaced, and texts with too many characters or digits become NULL. */
function understood(text: Sql, now: string): Sql {
  const isNow = sql`lower(${text}) = 'now'`;
  const hasManyDigits = sql`${text} ~ ${`[0-9]{${filterLimits.timeDigitsMax + 1}}`}::text`;
  return sql`CASE WHEN ${isNow} THEN ${now}::text WHEN octet_length(${text}) <= ${filterLimits.timeLengthMax}::integer AND NOT ${hasManyDigits} THEN ${text} END`;
}

/** Patterns without question marks, which would be placeholders. `fieldsOf` refers to their groups by number. */
const date = '((-{0,1}[0-9]{4})-([0-9]{2})-([0-9]{2})[[:space:]T]*)';
const zone = '([zZ]|([+-])([0-9]{2}):([0-9]{2}))';
const clock = `(([0-9]{2}):([0-9]{2})(:([0-9]{2})([.][0-9]+){0,1}){0,1}[[:space:]]*${zone}{0,1}[[:space:]]*)`;
const pattern = `^${date}{0,1}${clock}{0,1}$`;

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
