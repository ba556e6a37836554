import type { Slot } from '../sql/slot.ts';
import type { Sql, SqlValue } from '../sql/sql.ts';
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
  /** Matches with `\` as the escape, ignoring case as base/case-folding.ts does. NULL where a side is NULL. */
  readonly like: (match: LikeMatch) => Sql;
  /** An item of ORDER BY; NULL comes first, or last when descending. */
  readonly orderBy: (operand: Operand, isDescending: boolean) => Sql;
  readonly orderRandomly: Sql;
  /** The operand as a text whose case is folded by base/case-folding.ts. */
  readonly lower: (operand: Operand) => Operand;
  /** The FROM item behind LEFT JOIN that gives a row for each text in a JSON array of texts (a column or a parameter); none for NULL. */
  readonly each: (list: Sql, alias: Sql) => Sql;
  /** The text in a row of `each`. */
  readonly valueOfEach: (alias: Sql) => Operand;
  /** The number of texts in a JSON array of texts; 0 for NULL. */
  readonly length: (list: Sql) => Operand;
  /** The number of values in a list that a `json` operand holds; 0 for all else. */
  readonly lengthInJson: (value: Operand) => Operand;
  /** The number of rows of a joined table that the join has found; an aggregate. */
  readonly countOf: (alias: Sql) => Operand;
  /**
   * The same text, hidden from the planner's reasoning about equality. PostgreSQL (18.4 for one) concludes from
   * `a LEFT JOIN b ON b.x = $1 LEFT JOIN c ON c.y = b.x` that c.y is $1, and finds rows of c where there is no row of b.
   */
  readonly opaque: (text: Sql) => Sql;
  /** The type of a stored column of this kind. Numbers are no NUMERIC, which would turn 1e17 into an integer that is inexact here. */
  readonly columnType: (kind: StoredKind) => Sql;
  /**
   * The placeholder for a value of such a column. PostgreSQL fixes the parameter types of a prepared statement when it prepares the
   * text: after a field is replaced by one of the same name but another type, a session would store `007` as `7`, or fail. A cast
   * on all that is not text makes it another text, which is prepared anew.
   */
  readonly placeholder: (kind: StoredKind) => Sql;
  /** A value with the type that it would have in such a column. */
  readonly typed: (kind: StoredKind, value: SqlValue) => Sql;
  /** The placeholder for a text of which the UTF-8 bytes are stored. */
  readonly utf8: Sql;
  /** The key of an index that ignores the case of ASCII letters only. */
  readonly foldedKey: (column: Sql) => Sql;
  /** Whether a column equals a text as such an index compares them. */
  readonly equalsFolded: (column: Sql, text: string) => Sql;
  /** The JSON array with this text alone. */
  readonly listOf: (text: Sql) => Sql;
  /** The last text in a JSON array of texts; NULL where there is none. */
  readonly lastOf: (list: Sql) => Sql;
  /** The number under this name in a JSON object, in which the name has no other value; NULL where it has none. */
  readonly numberUnder: (object: Sql, name: string) => Sql;
  /** The operand as JSON text for display: the beginning of a longer text, longer JSON as a truncated text. NULL for none. */
  readonly preview: (operand: Operand, lengthMax: number) => Sql;
}

/** What a column of a collection holds. */
export type StoredKind = 'text' | 'number' | 'bool' | 'json';

export interface LikeMatch {
  readonly subject: Term;
  /** A finished pattern, or an operand whose text is searched for anywhere in the subject; wildcards in it stay wildcards. */
  readonly pattern: string | Slot | Operand;
  readonly isNegated: boolean;
}

export type Comparator = '=' | 'IS' | 'IS NOT' | '<' | '<=' | '>' | '>=';
