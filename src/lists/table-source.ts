import { dialectOf } from '../filters/dialect-of.ts';
import type { Resolve } from '../filters/operand.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { InternalTable, Reader } from '../storage/database.ts';
import { column } from './column.ts';
import type { ListSource } from './list-source.ts';

/** One of the service's own tables, with a `position` in the order in which its rows were made. */
export interface ListedTable {
  readonly name: InternalTable;
  /** What stands behind SELECT. */
  readonly columns: Sql;
  readonly resolve: Resolve;
  /** Of the instance's rows, those that are listed. */
  readonly where?: Sql;
}

/** The rows of an instance in such a table, as a list. `now` is in milliseconds since 1970. */
export function tableSource({ names }: Pick<Reader, 'names'>, table: ListedTable, now: number): ListSource {
  const { name, columns, resolve, where } = table;
  return {
    columns,
    from: names.table(name),
    where: where === undefined ? names.scope : sql`${names.scope} AND ${where}`,
    tieBreaker: position,
    resolve,
    dialect: dialectOf(names.engine),
    now,
  };
}

const position = column('number', sql`position`);
