import type { ColumnKind } from '../fields/field-type.ts';
import type { Sql, SqlValue } from '../sql/sql.ts';

/**
 * Views: queries that superusers of an instance write, who are trusted neither with other instances nor with the server.
 *
 *   describe ── the query against empty tables of the same columns, which shows what it names ──► its columns, or why it is refused
 *   create   ── CREATE VIEW in the transaction that saves the definition
 *   search   ── as of any table; on SQLite in a process that can be killed, as nothing else ends a statement
 */

/** What all views are in {@link Sql.tables}. */
export const viewTables = '$views';

/** A query, and the tables that it may read: the collections of the instance that it names. */
export interface ViewDraft {
  readonly query: string;
  readonly tables: readonly ViewTable[];
}

export interface ViewTable {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly kind: ColumnKind }[];
}

/** A column of a query, and the column of a table whose values it has as they are, if there is one. */
export interface QueryColumn {
  readonly name: string;
  readonly from?: { readonly table: string; readonly column: string };
}

/** What a query returns, or why it is refused, in words for its author. */
export type ViewDescription =
  | {
      readonly columns: readonly QueryColumn[];
      /** The names of the tables that it reads. */
      readonly reads: readonly string[];
    }
  | { readonly problem: string };

/** What a database does for views besides what it does for tables. */
export interface ViewQueries {
  /** Reads what a query returns. It is run on no data. */
  describeView(draft: ViewDraft): Promise<ViewDescription>;
  /** As `search`, for a statement around a query that was described before. Rejects with bad_request where the query fails. */
  searchDraft(statement: Sql): Promise<(readonly SqlValue[])[]>;
}

/** The part of a transaction that makes views. */
export interface ViewWriter {
  run(statement: Sql): Promise<number>;
  tuples(statement: Sql): Promise<(readonly SqlValue[])[]>;
}

/** How an engine writes about views. */
export interface ViewDialect {
  /** The view of a collection by its name: a search has to know that it reads one. */
  table(name: string): Sql;
  /** Returns a column of a query as the field of this kind stores it; of any type as the text of a JSON value. */
  value(column: Sql, kind: ColumnKind | 'any', zero: Sql): Sql;
  /** Makes the view of a collection. Its query was described before. */
  create(tx: ViewWriter, name: string, select: Sql): Promise<void>;
  /** Drops a view, and those that read it where the engine has to. */
  drop(name: string): Sql;
}
