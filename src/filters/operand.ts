import type { Sql } from '../sql/sql.ts';

/**
 * What a name stands for in the statement that is being built. `text` and `date` compare bytewise; multiple values are
 * `text` as well, the JSON text they are stored as (http-api 8.4). `bool` is 0 or 1. `json` is a column of JSON text, whose
 * value inside is compared.
 *
 * Relations will be operands too: the resolver that makes them keeps the joins it needs, and a member of Operand will say
 * that a name has many values.
 */
export interface Operand {
  /** A column, or an expression in parentheses. */
  readonly sql: Sql;
  readonly kind: OperandKind;
  /** Of a `json`: the way from its root to the value, made by json-path.ts; numbers are places in arrays. */
  readonly path?: readonly (string | number)[];
  /** A NOT NULL column of the table the list is of, not of a joined one: PostgreSQL's indexes serve its order only then. */
  readonly isNeverNull?: true;
  /** What else must hold for every comparison with it: an e-mail address only where its owner shows it. */
  readonly guard?: Sql;
}

export type OperandKind = 'text' | 'number' | 'bool' | 'json' | 'date';

/** Undefined for a name that does not exist, or that the caller must not know of. Gets the name as written. */
export type Resolve = (name: string) => Operand | undefined;
