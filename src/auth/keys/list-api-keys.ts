import type { Instance } from '../../instances/instance.ts';
import { columnResolver } from '../../lists/column-resolver.ts';
import { column } from '../../lists/column.ts';
import type { ListQuery } from '../../lists/list-query.ts';
import { runList, type ListResult } from '../../lists/run-list.ts';
import { tableSource, type ListedTable } from '../../lists/table-source.ts';
import { sql } from '../../sql/sql.ts';
import { apiKeyColumns, toApiKey, type ApiKey } from './api-key.ts';

const resolve = columnResolver({
  id: column('text', sql`id`),
  name: column('text', sql`name`),
  expires: column('date', sql`expires`),
  created: column('date', sql`created`),
  lastUsed: column('date', sql`last_used`),
});

const keys: ListedTable = { name: '$api_key', columns: apiKeyColumns, resolve };

/** Returns a page of keys, without the secret part, by default in the order in which they were made. */
export async function listApiKeys(instance: Instance, query: ListQuery): Promise<ListResult<ApiKey>> {
  const { database } = instance;
  const page = await runList(database, query, tableSource(database, keys, instance.clock.now()));
  return { ...page, items: page.items.map(toApiKey) };
}
