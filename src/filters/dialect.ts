import type { Sql } from '../sql/sql.ts';
import type { Operand, Term } from './operand.ts';
import type { TimeFormat } from './time-format.ts';
import type { TimeModifier } from './time-modifier.ts';

/**
 * What the engines write differently. compile-comparison.ts decides what a comparison means and hands over only what is left:
 * texts are compared with texts, numbers (bools among them) with numbers; mixed kinds come between two operands, and where
 * one side is json, whose kind is known row by row. The answers are the same on every engine (http-api 8.4):
 *
 * - numbers stand before texts; texts compare bytewise;
 * - a number beside a text operand becomes a text, a text beside a number operand becomes a number if it looks like one;
 * - `IS` and `IS NOT` are true or false for NULL as well; all others are then NULL, which selects nothing.
 */
export interface Dialect {
  /** At least one side is an Operand. */
  readonly compare: (left: Term, comparator: Comparator, right: Term) => Sql;
  /** Equality of two operands, neither of them json, where NULL is the same as the empty text. */
  readonly compareCoalesced: (left: Operand, comparator: '=' | 'IS NOT', right: Operand) => Sql;
  /** `\` is the escape; the case of ASCII letters does not count. NULL where a side is NULL. */
  readonly like: (match: LikeMatch) => Sql;
  /** What a list is ordered by; NULL first, or last when descending. */
  readonly orderBy: (operand: Operand, isDescending: boolean) => Sql;
  readonly orderRandomly: Sql;
  /** The operand as a text whose ASCII letters are small. */
  readonly lower: (operand: Operand) => Operand;
  /** What stands behind LEFT JOIN for a row for each text in a column, or a parameter, that is a JSON array of texts; nothing of NULL. */
  readonly each: (list: Sql, alias: Sql) => Sql;
  /** The text in such a row. */
  readonly valueOfEach: (alias: Sql) => Operand;
  /** How many texts such a column has; 0 of NULL. */
  readonly length: (list: Sql) => Operand;
  /**
   * The same text, of which a planner does not know that it is the same. PostgreSQL (18.4 for one) concludes from
   * `a LEFT JOIN b ON b.x = $1 LEFT JOIN c ON c.y = b.x` that c.y is $1, and finds rows of c for which there is none of b.
   */
  readonly opaque: (text: Sql) => Sql;
  /** Kilometres by the spherical law of cosines; NULL where a coordinate is, or is no number or infinite. */
  readonly geoDistance: (places: Places) => Operand;
  /** A moment as a text; the empty one where there is no moment. */
  readonly strftime: (call: TimeCall) => Operand;
}

/** In degrees. No operand of them is text. */
export interface Places {
  readonly lonA: Coordinate;
  readonly latA: Coordinate;
  readonly lonB: Coordinate;
  readonly latB: Coordinate;
  readonly radiusKm: number;
}

export type Coordinate = Operand | number | null;

/**
 * Times are, as for SQLite, a julian day or a text: `2026-11-20`, `2026-11-20 09:35`, `2026-11-20T09:35:20.114+01:00`, `09:35`, or a
 * julian day in digits. They are milliseconds from the beginning: a day that its month does not have is one of the next
 * before anything else is done with it.
 */
export interface TimeCall {
  readonly format: TimeFormat;
  readonly time: Operand | number | string | null;
  readonly modifiers: readonly TimeModifier[];
  /** What the text `now` in a row means: not what the clock of the engine shows. */
  readonly now: string;
}

export interface LikeMatch {
  readonly subject: Term;
  /** A pattern ready to be used, or an operand whose text is to be found anywhere in the subject; its wildcards are wildcards. */
  readonly pattern: string | Operand;
  readonly isNegated: boolean;
}

export type Comparator = '=' | 'IS' | 'IS NOT' | '<' | '<=' | '>' | '>=';
