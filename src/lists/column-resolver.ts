import type { Operand, Resolve } from '../filters/operand.ts';

/** Names of a filter for a plain table: exactly these, each with its column. */
export function columnResolver(columns: Readonly<Record<string, Operand>>): Resolve {
  // A Map, because every object also has a member called `constructor`.
  const operands = new Map(Object.entries(columns));
  return (name) => operands.get(name);
}
