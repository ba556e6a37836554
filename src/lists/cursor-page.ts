import { AppError } from '../base/errors.ts';
import { limit } from '../sql/limit.ts';
import { joinSql, sql, type Sql } from '../sql/sql.ts';
import type { Tuple } from '../storage/database.ts';
import { afterCursor, cursorColumns, sealCursor } from './cursor.ts';
import type { ListPage } from './list-page.ts';
import { whereAll, type ListSelect } from './list-select.ts';
import type { ListSource } from './list-source.ts';

/** A page that begins after a cursor. A deep page costs what the first one does, because an index finds where it begins. */
export interface CursorPage {
  /** Selects these columns, followed by those that make the next cursor; one row more than the page has. */
  readonly select: (columns: Sql) => Sql;
  /** How many columns make the next cursor. */
  readonly width: number;
  /** Returns the rest of the page: the next cursor, null at the end. Nothing is counted. */
  readonly endOf: (rows: readonly Tuple[]) => Omit<ListPage, 'page' | 'perPage'>;
}

/** Throws `bad_request` for a cursor of another list, and for an order that cursors do not support. */
export function cursorPage(
  { cursor, perPage }: { readonly cursor: string; readonly perPage: number },
  { from, conditions, terms, order }: ListSelect,
  { cursors: sealer, dialect }: Pick<ListSource, 'cursors' | 'dialect'>,
): CursorPage {
  if (sealer === undefined) throw new AppError('bad_request', 'This list has no cursors.');
  const told = cursorColumns(terms);
  const after = afterCursor(cursor, terms, { sealer, dialect });
  const where = whereAll(after === undefined ? conditions : [...conditions, after]);
  return {
    width: told.length,
    select: (columns) =>
      sql`SELECT ${joinSql([columns, ...told], ', ')} FROM ${from}${where} ORDER BY ${order}${limit(perPage + 1)}`,
    endOf: (rows) => {
      const last = rows[perPage - 1];
      const nextCursor = rows.length > perPage && last !== undefined ? sealCursor(last, terms, sealer) : null;
      return { totalItems: -1, totalPages: -1, nextCursor };
    },
  };
}
