import type { Operand, OperandKind } from '../filters/operand.ts';
import type { Sql } from '../sql/sql.ts';

/** Returns the operand for a NOT NULL column of the listed table. */
export function column(kind: OperandKind, name: Sql): Operand {
  return { sql: name, kind, isNeverNull: true };
}
