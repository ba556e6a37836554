import type { Operand } from '../filters/operand.ts';
import { dialectOf } from '../filters/dialect-of.ts';
import { columnResolver } from '../lists/column-resolver.ts';
import type { ListQuery } from '../lists/list-query.ts';
import { runList, type ListResult } from '../lists/run-list.ts';
import { sql } from '../sql/sql.ts';
import type { CollectionChange } from './change-collection.ts';
import type { Collection } from './collection.ts';

const resolve = columnResolver({
  id: { sql: sql`id`, kind: 'text', isNeverNull: true },
  name: { sql: sql`name`, kind: 'text', isNeverNull: true },
  type: { sql: sql`type`, kind: 'text', isNeverNull: true },
  system: { sql: sql`system`, kind: 'bool', isNeverNull: true },
  created: { sql: sql`created`, kind: 'date', isNeverNull: true },
  updated: { sql: sql`updated`, kind: 'date', isNeverNull: true },
});

const position: Operand = { sql: sql`position`, kind: 'number', isNeverNull: true };

export interface ListCollectionsOptions extends CollectionChange {
  /** Whether those of the service itself are listed, too. */
  readonly withSystem: boolean;
}

/** A page of definitions, in the order in which they were made when nothing else is asked for. */
export async function listCollections(
  source: ListCollectionsOptions,
  query: ListQuery,
): Promise<Omit<ListResult, 'items'> & { readonly items: readonly Collection[] }> {
  const { scope } = source.database.names;
  const page = await runList(source.database, query, {
    columns: sql`id`,
    from: source.database.names.table('$collection'),
    where: source.withSystem ? scope : sql`${scope} AND system = 0`,
    tieBreaker: position,
    resolve,
    dialect: dialectOf(source.database.names.engine),
    now: source.now,
  });
  // One that was deleted between the two looks is left out.
  const items = page.items
    .map(([id]) => source.collections.find(String(id)))
    .filter((found) => found !== undefined);
  return { ...page, items };
}
