import { columnResolver } from '../lists/column-resolver.ts';
import { column } from '../lists/column.ts';
import type { ListQuery } from '../lists/list-query.ts';
import { runList, type ListResult } from '../lists/run-list.ts';
import { tableSource, type ListedTable } from '../lists/table-source.ts';
import { sql } from '../sql/sql.ts';
import type { CollectionChange } from './change-collection.ts';
import type { Collection } from './collection.ts';

const resolve = columnResolver({
  id: column('text', sql`id`),
  // On SQLite the column has the collation NOCASE, so that names are unique in any case. An expression has no collation of its
  // own, so that filters and sort compare bytewise.
  name: column('text', sql`(name || '')`),
  type: column('text', sql`type`),
  system: column('bool', sql`system`),
  created: column('date', sql`created`),
  updated: column('date', sql`updated`),
});

const ids: ListedTable = { name: '$collection', columns: sql`id`, resolve };

export interface ListCollectionsOptions extends CollectionChange {
  /** Whether system collections are listed, too. */
  readonly withSystem: boolean;
}

/** Returns a page of definitions, in the order in which they were created unless another is asked for. */
export async function listCollections(
  source: ListCollectionsOptions,
  query: ListQuery,
): Promise<ListResult<Collection>> {
  const { database, withSystem, now } = source;
  const table = withSystem ? ids : { ...ids, where: sql`system = 0` };
  const page = await runList(database, query, tableSource(database, table, now));
  // A collection that was deleted since the query ran is left out.
  const items = page.items
    .map(([id]) => source.collections.find(String(id)))
    .filter((found) => found !== undefined);
  return { ...page, items };
}
