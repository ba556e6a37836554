import type { Dialect } from '../filters/dialect.ts';
import type { Operand, Resolve } from '../filters/operand.ts';
import type { FilterTree } from '../filters/tree.ts';
import type { Sql } from '../sql/sql.ts';
import type { CursorSealer } from './cursor.ts';

/** The table that is listed, and what the caller may see of it. */
export interface ListSource {
  /** What follows SELECT: the columns of the tuples. */
  readonly columns: Sql;
  /** What follows FROM. */
  readonly from: Sql;
  /** What must hold besides the filter: the list rule, the owner of the rows. */
  readonly where?: Sql;
  /** The condition that ends a search which takes too long; undefined where the engine does so by itself. */
  readonly isInTime?: Sql;
  /** The hidden position: unique and never null. It is the default order and the last key of every other. */
  readonly tieBreaker: Operand;
  /** Resolves the names in the sort and, without a scope, those in the filter. */
  readonly resolve: Resolve;
  /** For a table whose conditions may need joins. */
  readonly scope?: ListScope;
  readonly dialect: Dialect;
  /** Undefined where a list is read by pages only. */
  readonly cursors?: CursorSealer;
  /** The time for macros such as `@now`, in milliseconds since 1970. */
  readonly now: number;
}

/** Collects the conditions on a table's rows, and the joins that they need. */
export interface ListScope {
  /** Returns all conditions, the client's filter among them. To be called once. Throws a filter error. */
  conditionWith(filter: FilterTree | undefined): Sql | undefined;
  /** Returns the joins that follow the table: empty, or with a blank before them. To be called when all names were resolved. */
  joins(): Sql;
}
