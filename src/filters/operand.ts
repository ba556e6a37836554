import type { Sql } from '../sql/sql.ts';

/**
 * What a name stands for in the statement that is being built. `text` and `date` compare bytewise; multiple values are
 * `text` as well, the JSON text they are stored as (http-api 8.4). `bool` is 0 or 1. `json` is a column of JSON text, whose
 * value inside is compared.
 */
export interface Operand {
  /** A column, or an expression in parentheses. */
  readonly sql: Sql;
  readonly kind: OperandKind;
  /** Of a `json`: the way from its root to the value, made by json-path.ts; numbers are places in arrays. */
  readonly path?: readonly (string | number)[];
  /** A NOT NULL column of the table the list is of, not of a joined one: PostgreSQL's indexes serve its order only then. */
  readonly isNeverNull?: true;
  /** Of a text that an index is over, where indexes hold no more than its beginning. */
  readonly prefix?: Prefix;
  /** What else must hold for every comparison with it: an e-mail address only where its owner shows it. */
  readonly guard?: Sql;
  /** Where a row has any number of these values: `sql` is then one of them, and here are all of them, apart from it. */
  readonly many?: Many;
}

export interface Many {
  /**
   * What stands behind a FROM: a row for each value, under names that nothing else in the statement has, and one row of NULLs
   * where there is no value.
   */
  readonly rows: Sql;
  /** The value in those rows. */
  readonly operand: Operand;
}

/** The beginning of a text: two texts stand as their beginnings do, or these are equal. */
export interface Prefix {
  readonly sql: Sql;
  /** Code points. A text with fewer is its own beginning. */
  readonly length: number;
  /** Whether no text is longer, so that an order by beginnings is the order. */
  readonly isWhole: boolean;
}

export type OperandKind = 'text' | 'number' | 'bool' | 'json' | 'date';

/** A side of a comparison. */
export type Term = Operand | Constant;

/** A number is REAL; integers, as bools and some macros are, come as bigint, because beside a text operand they are `5` and not `5.0`. */
export type Constant = string | number | bigint | null;

/** The values of a list that came with the request. */
export interface Constants {
  readonly kind: 'constants';
  readonly values: readonly Constant[];
}

/** A name that is known but cannot be used as it was: the sentence, without its end, that says so to the client. */
export interface Misuse {
  readonly kind: 'misuse';
  readonly problem: string;
}

/** Undefined for a name that does not exist, or that the caller must not know of. Gets the name as written, modifiers included. */
export type Resolve = (name: string) => Term | Constants | Misuse | undefined;

export function isOperand(term: Term | Constants | Misuse | undefined): term is Operand {
  return typeof term === 'object' && term !== null && 'sql' in term;
}
