import type { Sql } from '../sql/sql.ts';

const READS = /^\s*SELECT\b/;

/** Whether a statement that is asked like a question may change something, as INSERT … RETURNING does. */
export function mayWrite({ text }: Sql): boolean {
  return !READS.test(text);
}
