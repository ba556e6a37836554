import { notFound } from '../../base/errors.ts';
import type { Instance } from '../../instances/instance.ts';
import { columnResolver } from '../../lists/column-resolver.ts';
import { column } from '../../lists/column.ts';
import type { ListQuery } from '../../lists/list-query.ts';
import { runList, type ListResult } from '../../lists/run-list.ts';
import { tableSource, type ListedTable } from '../../lists/table-source.ts';
import { sql } from '../../sql/sql.ts';
import { endpointStoreOf } from './endpoint-store.ts';
import type { Endpoint } from './endpoint.ts';

const resolve = columnResolver({
  id: column('text', sql`id`),
  url: column('text', sql`url`),
  description: column('text', sql`description`),
  status: column('text', sql`status`),
  created: column('date', sql`created`),
  updated: column('date', sql`updated`),
});

const ids: ListedTable = { name: '$endpoint', columns: sql`id`, resolve };

/** One endpoint as it is stored. Throws not_found. */
export async function readEndpoint(instance: Instance, id: string): Promise<Endpoint> {
  const endpoints = await endpointStoreOf(instance).stored(instance.database);
  const found = endpoints.find((endpoint) => endpoint.id === id);
  if (found === undefined) throw notFound();
  return found;
}

/** Returns a page of endpoints, by default in the order in which they were made. */
export async function listEndpoints(instance: Instance, query: ListQuery): Promise<ListResult<Endpoint>> {
  const { database } = instance;
  const page = await runList(database, query, tableSource(database, ids, instance.clock.now()));
  const endpoints = await endpointStoreOf(instance).stored(database);
  const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  // An endpoint that was deleted between the two reads is left out.
  return {
    ...page,
    items: page.items.map(([id]) => byId.get(String(id))).filter((found) => found !== undefined),
  };
}
