import type { Operand, Resolve } from '../filters/operand.ts';

/** Returns a resolver that knows exactly these names, each with its column: for filters on a plain table. */
export function columnResolver(columns: Readonly<Record<string, Operand>>): Resolve {
  // A Map, because every object also has a member called `constructor`.
  const operands = new Map(Object.entries(columns));
  return (name) => operands.get(name);
}
