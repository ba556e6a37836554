import { type Collection, defaultAuthOptions, lockedRules } from '../collections/collection.ts';
import { withAccountFields } from '../collections/decode-fields.ts';
import { createdField, idField, updatedField } from '../fields/field.ts';
import type { ListQuery } from '../query/list-query.ts';
import { column, columnResolver, type ListedTable, tableSource } from '../query/list-source.ts';
import { type ListResult, runList } from '../query/run-list.ts';
import { sql } from '../sql/sql.ts';
import type { CollectionChange } from './change-collection.ts';

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

/** Returns a page of definitions, in the order of their creation by default. */
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
    .filter((collection) => collection !== undefined);
  return { ...page, items };
}

/** Returns a definition to start from: a collection of this type with defaults for everything but its name. */
export function scaffoldCollection(type: Collection['type']): Collection {
  const fields = type === 'view' ? [] : [idField(), createdField(), updatedField()];
  return {
    id: '',
    name: '',
    type,
    system: false,
    rules: lockedRules,
    fields: type === 'auth' ? withAccountFields(fields) : fields,
    // An auth collection gets its indexes when it has an id, which is part of their names.
    indexes: [],
    auth: type === 'auth' ? defaultAuthOptions : undefined,
    ...(type === 'view' && { view: { query: '', hasPlainId: false, reads: [], files: {} } }),
    created: '',
    updated: '',
  };
}
