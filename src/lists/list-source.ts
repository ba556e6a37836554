import type { Dialect } from '../filters/dialect.ts';
import type { Operand, Resolve } from '../filters/operand.ts';
import type { FilterTree } from '../filters/tree.ts';
import type { Sql } from '../sql/sql.ts';
import type { CursorSealer } from './cursor.ts';

/** The table a list is of. */
export interface ListSource {
  /** What stands behind SELECT: the columns of the tuples. */
  readonly columns: Sql;
  /** What stands behind FROM. */
  readonly from: Sql;
  /** What must hold beside the filter: the list rule, the owner of the rows. */
  readonly where?: Sql;
  /** Ends a search that takes too long; undefined where the engine does that by itself. */
  readonly isInTime?: Sql;
  /** The hidden position: unique, never null; the default order and the end of every other. */
  readonly tieBreaker: Operand;
  /** What the names of the order mean, and without a scope those of the filter. */
  readonly resolve: Resolve;
  /** Of a table whose conditions may need others beside it. */
  readonly scope?: ListScope;
  readonly dialect: Dialect;
  /** Undefined where a list is read by pages only. */
  readonly cursors?: CursorSealer;
  /** For the macros, in milliseconds since 1970. */
  readonly now: number;
}

/** Collects the conditions on a table's rows, and what has to be joined for them. */
export interface ListScope {
  /** All conditions, the client's filter among them. To be asked once. Throws a filter error. */
  conditionWith(filter: FilterTree | undefined): Sql | undefined;
  /** What stands behind the table: empty, or with a blank before it. To be asked when everything was resolved. */
  joins(): Sql;
}
