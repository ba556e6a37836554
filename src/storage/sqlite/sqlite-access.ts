import type { Access } from '../database.ts';

/** Matches a table that is read from its beginning, but no subquery, list of constants or table-valued function. */
const SCAN = /^SCAN (?!\(|CONSTANT|\d+ CONSTANT)(\S+)(?!.* VIRTUAL TABLE)/;

/**
 * Reads the lines of EXPLAIN QUERY PLAN (https://www.sqlite.org/eqp.html). The scan of a list without a filter whose order needs no
 * sorting does not count: it ends with the page.
 */
export function sqliteAccess(lines: readonly string[], list: { readonly isFiltered: boolean }): Access {
  const isSorted = lines.includes('USE TEMP B-TREE FOR ORDER BY');
  const scanned = lines.flatMap((line) => SCAN.exec(line)?.[1] ?? []);
  const isWhole = list.isFiltered || isSorted || scanned.length > 1;
  return scanned.length > 0 && isWhole ? 'scan' : 'index';
}
