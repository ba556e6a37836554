import type { Operand, OperandKind } from '../filters/operand.ts';
import type { Sql } from '../sql/sql.ts';

/** A NOT NULL column of the table that a list is of. */
export function column(kind: OperandKind, name: Sql): Operand {
  return { sql: name, kind, isNeverNull: true };
}
