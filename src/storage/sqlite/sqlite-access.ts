import type { Access } from '../database.ts';

/** A table of ours that is read from its beginning: not a subquery, a list of constants or a function that gives rows. */
const SCAN = /^SCAN (?!\(|CONSTANT|\d+ CONSTANT)(\S+)(?!.* VIRTUAL TABLE)/;

/**
 * From the lines of EXPLAIN QUERY PLAN (https://www.sqlite.org/eqp.html). A list without a filter, in an order that is there
 * already, is read from its beginning and ends with its page.
 */
export function sqliteAccess(lines: readonly string[], list: { readonly isFiltered: boolean }): Access {
  const isSorted = lines.includes('USE TEMP B-TREE FOR ORDER BY');
  const scanned = lines.flatMap((line) => SCAN.exec(line)?.[1] ?? []);
  const isWhole = list.isFiltered || isSorted || scanned.length > 1;
  return scanned.length > 0 && isWhole ? 'scan' : 'index';
}
