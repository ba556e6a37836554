import type { Sql } from '../sql/sql.ts';
import type { Operand, Term } from './operand.ts';
import type { TimeFormat, TimeModifier } from './functions/time-arguments.ts';

/**
 * The SQL that engines write differently. compile.ts decides what a comparison means; what reaches a dialect compares texts
 * with texts and numbers (bools included) with numbers. Kinds are mixed only between two operands, or where a side is json, whose kind
 * differs from row to row. The results are the same on every engine (http-api 8.4):
 *
 * - numbers sort before texts; texts compare bytewise;
 * - a number beside a text operand becomes a text, a text beside a number operand becomes a number if it looks like one;
 * - `IS` and `IS NOT` are true or false also for NULL; all other comparisons with NULL are NULL, which selects nothing.
 */
export interface Dialect {
  /** At least one side is an Operand. */
  readonly compare: (left: Term, comparator: Comparator, right: Term) => Sql;
  /** Compares two operands, neither of them json, for equality; NULL equals the empty text. */
  readonly compareCoalesced: (left: Operand, comparator: '=' | 'IS NOT', right: Operand) => Sql;
  /** Matches with `\` as the escape, ignoring the case of ASCII letters. NULL where a side is NULL. */
  readonly like: (match: LikeMatch) => Sql;
  /** An item of ORDER BY; NULL comes first, or last when descending. */
  readonly orderBy: (operand: Operand, isDescending: boolean) => Sql;
  readonly orderRandomly: Sql;
  /** The operand as a text with its ASCII letters in lower case. */
  readonly lower: (operand: Operand) => Operand;
  /** The FROM item behind LEFT JOIN that gives a row for each text in a JSON array of texts (a column or a parameter); none for NULL. */
  readonly each: (list: Sql, alias: Sql) => Sql;
  /** The text in a row of `each`. */
  readonly valueOfEach: (alias: Sql) => Operand;
  /** The number of texts in a JSON array of texts; 0 for NULL. */
  readonly length: (list: Sql) => Operand;
  /**
   * The same text, hidden from the planner's reasoning about equality. PostgreSQL (18.4 for one) concludes from
   * `a LEFT JOIN b ON b.x = $1 LEFT JOIN c ON c.y = b.x` that c.y is $1, and finds rows of c where there is no row of b.
   */
  readonly opaque: (text: Sql) => Sql;
  /** Kilometres by the spherical law of cosines; NULL where a coordinate is NULL, no number or infinite. */
  readonly geoDistance: (places: Places) => Operand;
  /** A time as a text; the empty text where the value is no time. */
  readonly strftime: (call: TimeCall) => Operand;
}

/** Two places, in degrees. No coordinate is a text operand. */
export interface Places {
  readonly lonA: Coordinate;
  readonly latA: Coordinate;
  readonly lonB: Coordinate;
  readonly latB: Coordinate;
  readonly radiusKm: number;
}

export type Coordinate = Operand | number | null;

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

export interface LikeMatch {
  readonly subject: Term;
  /** A finished pattern, or an operand whose text is searched for anywhere in the subject; wildcards in it stay wildcards. */
  readonly pattern: string | Operand;
  readonly isNegated: boolean;
}

export type Comparator = '=' | 'IS' | 'IS NOT' | '<' | '<=' | '>' | '>=';
