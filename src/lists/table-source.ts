import { dialectOf } from '../filters/dialect-of.ts';
import type { Resolve } from '../filters/operand.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { InternalTable, Reader } from '../storage/database.ts';
import { column } from './column.ts';
import type { ListSource } from './list-source.ts';

/** One of the service's own tables, whose `position` is in the order of insertion. */
export interface ListedTable {
  readonly name: InternalTable;
  /** What follows SELECT. */
  readonly columns: Sql;
  readonly resolve: Resolve;
  /** The condition for those of the instance's rows that are listed. */
  readonly where?: Sql;
}

/** Returns the source for a list of an instance's rows in such a table. `now` is in milliseconds since 1970. */
export function tableSource({ names }: Pick<Reader, 'names'>, table: ListedTable, now: number): ListSource {
  const { name, columns, resolve, where } = table;
  const isInTime = names.isInTime(position.sql, 'for every row');
  return {
    columns,
    from: names.table(name),
    where: where === undefined ? names.scope : sql`${names.scope} AND ${where}`,
    ...(isInTime && { isInTime }),
    tieBreaker: position,
    resolve,
    dialect: dialectOf(names.engine),
    now,
  };
}

const position = column('number', sql`position`);
