import type { Operand } from '../filters/operand.ts';
import { dialectOf } from '../filters/dialect-of.ts';
import type { Instance } from '../instances/instance.ts';
import { columnResolver } from '../lists/column-resolver.ts';
import type { ListQuery } from '../lists/list-query.ts';
import { runList, type ListResult } from '../lists/run-list.ts';
import { sql } from '../sql/sql.ts';
import { endpointStoreOf } from './endpoint-store.ts';
import type { Endpoint } from './endpoint.ts';

const resolve = columnResolver({
  id: { sql: sql`id`, kind: 'text', isNeverNull: true },
  url: { sql: sql`url`, kind: 'text', isNeverNull: true },
  description: { sql: sql`description`, kind: 'text', isNeverNull: true },
  status: { sql: sql`status`, kind: 'text', isNeverNull: true },
  created: { sql: sql`created`, kind: 'date', isNeverNull: true },
  updated: { sql: sql`updated`, kind: 'date', isNeverNull: true },
});

const position: Operand = { sql: sql`position`, kind: 'number', isNeverNull: true };

/** A page of endpoints, in the order in which they were made when nothing else is asked for. */
export async function listEndpoints(
  instance: Instance,
  query: ListQuery,
): Promise<Omit<ListResult, 'items'> & { readonly items: readonly Endpoint[] }> {
  const { database } = instance;
  const page = await runList(database, query, {
    columns: sql`id`,
    from: database.names.table('$endpoint'),
    where: database.names.scope,
    tieBreaker: position,
    resolve,
    dialect: dialectOf(database.names.engine),
    now: instance.clock.now(),
  });
  const endpoints = await endpointStoreOf(instance).all(database);
  const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  // One that was deleted between the two looks is left out.
  return {
    ...page,
    items: page.items.map(([id]) => byId.get(String(id))).filter((found) => found !== undefined),
  };
}
