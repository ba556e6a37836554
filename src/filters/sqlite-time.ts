import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { TimeCall } from './dialect.ts';
import { filterLimits } from './filter-limits.ts';
import { isOperand, type Operand } from './operand.ts';
import { valueOf } from './sqlite-value.ts';
import type { TimeModifier } from './time-modifier.ts';

/** Calls SQLite's strftime. What that leaves undefined, or takes from its own clock, is fixed first, so that PostgreSQL gives the same. */
export function sqliteTime({ format, time, modifiers, now }: TimeCall): Operand {
  const value = isOperand(time) ? timeOf(time, now) : sql`${time}`;
  const [first, ...rest] = modifiers;
  const steps =
    first?.kind === 'unixepoch'
      ? ['unixepoch', settle, ...rest.flatMap(stepsOf)]
      : [settle, ...modifiers.flatMap(stepsOf)];
  const given = joinSql([sql`${format.text}`, value, ...steps.map((step) => sql`${step}`)], ', ');
  // The cast gives the expression the affinity of a text column.
  return { sql: sql`CAST(COALESCE(strftime(${given}), '') AS TEXT)`, kind: 'text' };
}

/** A shift by 0, which makes SQLite normalize a date such as 31 February to one that exists, and one before all days to NULL. */
const settle = '+0 seconds';

function stepsOf({ kind, text }: TimeModifier): readonly string[] {
  return kind === 'startOf' ? [text, settle] : [text];
}

function timeOf(time: Operand, now: string): Sql {
  const value = valueOf(time);
  if (time.kind === 'number' || time.kind === 'bool') return value;
  const tooManyDigits = `*${'[0-9]'.repeat(filterLimits.timeDigitsMax + 1)}*`;
  const isOdd = sql`(octet_length(${value}) > ${filterLimits.timeLengthMax} OR ${value} GLOB ${tooManyDigits} OR lower(${value}) IN ('subsec', 'subsecond'))`;
  const isNow = sql`lower(${value}) = 'now'`;
  return sql`CASE WHEN typeof(${value}) <> 'text' THEN ${value} WHEN ${isNow} THEN ${now} WHEN NOT ${isOdd} THEN ${value} END`;
}
