import { dialectOf } from '../filters/dialect-of.ts';
import type { Operand } from '../filters/operand.ts';
import type { Instance } from '../instances/instance.ts';
import { columnResolver } from '../lists/column-resolver.ts';
import type { ListQuery } from '../lists/list-query.ts';
import { runList, type ListResult } from '../lists/run-list.ts';
import { sql } from '../sql/sql.ts';
import { apiKeyColumns, toApiKey, type ApiKey } from './api-key.ts';

const resolve = columnResolver({
  id: { sql: sql`id`, kind: 'text', isNeverNull: true },
  name: { sql: sql`name`, kind: 'text', isNeverNull: true },
  expires: { sql: sql`expires`, kind: 'date', isNeverNull: true },
  created: { sql: sql`created`, kind: 'date', isNeverNull: true },
  lastUsed: { sql: sql`last_used`, kind: 'date', isNeverNull: true },
});

const position: Operand = { sql: sql`position`, kind: 'number', isNeverNull: true };

/** A page of keys, without the keys themselves, in the order in which they were made when nothing else is asked for. */
export async function listApiKeys(
  instance: Instance,
  query: ListQuery,
): Promise<Omit<ListResult, 'items'> & { readonly items: readonly ApiKey[] }> {
  const { database } = instance;
  const page = await runList(database, query, {
    columns: apiKeyColumns,
    from: database.names.table('$api_key'),
    where: database.names.scope,
    tieBreaker: position,
    resolve,
    dialect: dialectOf(database.names.engine),
    now: instance.clock.now(),
  });
  return { ...page, items: page.items.map(toApiKey) };
}
