import type { Slot } from '../sql/slot.ts';
import type { Sql } from '../sql/sql.ts';
import type { Operand, Term } from './operand.ts';

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
  /** By this name each function of `functions/` finds its SQL. */
  readonly engine: 'sqlite' | 'postgres';
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
}

export interface LikeMatch {
  readonly subject: Term;
  /** A finished pattern, or an operand whose text is searched for anywhere in the subject; wildcards in it stay wildcards. */
  readonly pattern: string | Slot | Operand;
  readonly isNegated: boolean;
}

export type Comparator = '=' | 'IS' | 'IS NOT' | '<' | '<=' | '>' | '>=';
