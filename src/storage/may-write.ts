import type { Sql } from '../sql/sql.ts';

const READS = /^\s*SELECT\b/;

/** True when a statement whose rows are read may also change something, as INSERT … RETURNING does. */
export function mayWrite({ text }: Sql): boolean {
  return !READS.test(text);
}
