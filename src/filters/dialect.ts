import type { Sql } from '../sql/sql.ts';
import type { Operand } from './operand.ts';

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
}

export interface LikeMatch {
  readonly subject: Term;
  /** A pattern ready to be used, or an operand whose text is to be found anywhere in the subject; its wildcards are wildcards. */
  readonly pattern: string | Operand;
  readonly isNegated: boolean;
}

export type Comparator = '=' | 'IS' | 'IS NOT' | '<' | '<=' | '>' | '>=';

/** A side of a comparison. */
export type Term = Operand | Constant;

/** A number is REAL; integers, as bools and some macros are, come as bigint, because beside a text operand they are `5` and not `5.0`. */
export type Constant = string | number | bigint | null;

export function isOperand(term: Term): term is Operand {
  return typeof term === 'object' && term !== null;
}
