import { countDeliveredToday } from '../deliveries/endpoint-hours.ts';
import { readDataBytes } from '../limits/data-room.ts';
import { sql } from '../sql/sql.ts';
import type { Database } from '../storage/database.ts';
import type { Instance } from './instance.ts';
import type { QuotaName } from './quotas.ts';

/** How much of a quota is used. */
export interface QuotaUse {
  readonly name: QuotaName;
  readonly used: number;
  readonly max: number;
}

/** Reads how much an instance uses of each of its quotas, but for those of a second: they are never used up for long. */
export async function readQuotaUse(
  instance: Pick<Instance, 'quotas' | 'database' | 'collections' | 'endpoints' | 'dueClock'>,
  connections = 0,
): Promise<readonly QuotaUse[]> {
  const quotas = instance.quotas();
  if (Object.keys(quotas).length === 0) return [];
  const { database, collections, endpoints, dueClock } = instance;
  const counted = await readCounted(database);
  const used: { readonly [Name in QuotaName]?: number } = {
    records: counted.get('records') ?? 0,
    collections: collections.all().filter(({ system }) => !system).length,
    ...(quotas.dataBytes !== undefined && { dataBytes: await readDataBytes(database) }),
    fileBytes: counted.get('fileBytes') ?? 0,
    endpoints: (await endpoints.all(database)).length,
    ...(quotas.deliveriesPerDay !== undefined && {
      deliveriesPerDay: await countDeliveredToday(database, dueClock.now()),
    }),
    realtimeConnections: connections,
  };
  // Object.keys widens the names to strings.
  const names = Object.keys(used) as readonly QuotaName[];
  return names.flatMap((name) => {
    const max = quotas[name];
    return max === undefined ? [] : [{ name, used: used[name] ?? 0, max }];
  });
}

/** Returns what is taken of the quotas that the database counts. */
async function readCounted(database: Database): Promise<ReadonlyMap<string, number>> {
  const { names } = database;
  const rows = await database.tuples(sql`
    SELECT name, min(max) - sum(room) FROM ${names.table('$quota')} WHERE ${names.instance.condition} GROUP BY name`);
  return new Map(rows.map(([name, count]) => [String(name), Number(count)]));
}
