import { holds, type Slot } from '../sql/slot.ts';
import type { Sql } from '../sql/sql.ts';

/**
 * The value of a name in the statement that is being built. `text` and `date` compare bytewise; multiple values are
 * `text` as well, the JSON text they are stored as (http-api 8.4). `bool` is 0 or 1. `json` is a column of JSON text, whose
 * value inside is compared.
 */
export interface Operand {
  /** A column, or an expression in parentheses. */
  readonly sql: Sql;
  readonly kind: OperandKind;
  /** For `json`: the path from its root to the value, made by operand.ts; numbers are indexes of arrays. */
  readonly path?: readonly (string | number)[];
  /** Set for a NOT NULL column of the list's own table, not of a joined one: only then can an index of PostgreSQL serve its order. */
  readonly isNeverNull?: true;
  /** For an indexed text whose index holds only its beginning. */
  readonly prefix?: Prefix;
  /** A condition that every comparison with the operand also requires: an e-mail address counts only if its owner shows it. */
  readonly guard?: Sql;
  /** The only texts that the field may have besides the empty one; absent where it may have any. */
  readonly choices?: readonly string[];
  /** Set where a row may have many of these values: `sql` is then one of them, while `many` selects all of them by itself. */
  readonly many?: Many;
  /** Set for values that `?=` and its kin compare apart from all other comparisons: of a list with `a` and `b` both are true. */
  readonly apart?: Many;
}

export interface Many {
  /** A FROM item with a row for each value, or one row of NULLs if there is none. Its names occur nowhere else in the statement. */
  readonly rows: Sql;
  /** The value in those rows. */
  readonly operand: Operand;
}

/** The beginning of a text. Texts order as their beginnings do, unless these are equal. */
export interface Prefix {
  readonly sql: Sql;
  /** The length in code points. A shorter text is its own beginning. */
  readonly length: number;
  /** Whether no text is longer, so that ordering by beginnings orders the texts. */
  readonly isWhole: boolean;
}

export type OperandKind = 'text' | 'number' | 'bool' | 'json' | 'date';

/** A side of a comparison. */
export type Term = Operand | Constant;

/** A number stands for a REAL. Integers (bools and some macros) are bigint, because beside a text operand they are `5` and not `5.0`. */
export type PlainConstant = string | number | bigint | null;

/** A slot is never null. */
export type Constant = PlainConstant | Slot;

/** The values of a list that came with the request. */
export interface Constants {
  readonly kind: 'constants';
  readonly values: readonly PlainConstant[];
}

/** A name that exists but was used wrongly. `problem` is the message for the client, without position and full stop. */
export interface Misuse {
  readonly kind: 'misuse';
  readonly problem: string;
}

/**
 * Resolves a name as written, modifiers included; `isAny` says whether the operator beside it is one with `?`. Undefined when it does not exist, or when the caller must not know of it. */
export type Resolve = (name: string, isAny?: boolean) => Term | Constants | Misuse | undefined;

export function isOperand(term: Term | Constants | Misuse | undefined): term is Operand {
  return typeof term === 'object' && term !== null && 'sql' in term;
}

/**
 * Converts the steps of a name behind a json field to a path: `list`, `0` of `data.list.0` give `['list', 0]`. Digits are an index of an
 * array, never a member of an object. With 10 digits or more, which could overflow an engine's index, they are a member's name, which
 * no array has.
 */
export function jsonPath(steps: readonly string[]): readonly (string | number)[] {
  return steps.map((step) => (/^\d{1,9}$/.test(step) ? Number(step) : step));
}

/**
 * Numbers and texts are converted to each other as SQLite does it, on every engine. Constants are converted here, because other
 * engines, and even other versions of SQLite, write numbers differently.
 */

/** The number that a text is beside a number column (`5`, ` 5.0 `, `1e2`, `.5`, `5.`); undefined if it does not look like one. */
export function numberOfText(text: string): number | undefined {
  // Takes linear time: anchored, and no two repetitions can match the same characters.
  const looksLikeOne = /^[\t-\r ]*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[\t-\r ]*$/.test(text);
  return looksLikeOne ? Number(text) : undefined;
}

/**
 * Whether LIKE may have to compare the pattern at each character of a large text. It does not for a pattern without a `%` before its
 * end, for which an engine may also use an index.
 */
export function mayBeSlow(subject: Term, pattern: string | Slot): boolean {
  const isLarge = isOperand(subject) ? subject.kind === 'text' || subject.kind === 'json' : true;
  return isLarge && holds(pattern, (text) => text.slice(0, -1).includes('%'));
}
