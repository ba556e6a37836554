import { foundByKeys, limit, sql, type Sql } from '../../sql/sql.ts';
import type { Names, Reader } from '../../storage/database.ts';
import type { DeliveryKey } from '../deliveries.ts';

/** More pending deliveries are neither read nor counted. */
const pendingKeysMax = 10_000;

/**
 * Finds the pending deliveries of one endpoint (by its number) or of all: those behind the cursors of lanes, those
 * with a pending outcome, and those that a running replay has yet to make due. Each kind has an index of its own, so finished ones are not
 * walked. Returns undefined where there are more than `pendingKeysMax`.
 */
export async function findPendingKeys(
  reader: Reader,
  endpoint?: number,
): Promise<readonly DeliveryKey[] | undefined> {
  const kinds = pendingOf(reader.names, endpoint).map(
    (kind) => sql`SELECT * FROM (${kind}${limit(pendingKeysMax + 1)}) AS kind`,
  );
  const [first, ...others] = kinds;
  const all = others.reduce((text, kind) => sql`${text} UNION ALL ${kind}`, first ?? sql``);
  const rows = await reader.search(foundByKeys(all), { isQuick: false });
  if (rows.length > pendingKeysMax) return undefined;
  return rows.map(([event, number]) => ({ event: Number(event), endpoint: Number(number) }));
}

function pendingOf(names: Names, endpoint: number | undefined): readonly Sql[] {
  const of = (column: Sql): Sql => (endpoint === undefined ? sql`TRUE` : sql`${column} = ${endpoint}`);
  const outcome = names.table('$outcome');
  const delivery = names.table('$delivery');
  const lane = names.table('$lane');
  const hasNone = sql`NOT EXISTS (
    SELECT 1 FROM ${outcome} o WHERE ${names.instance.conditionOf('o')} AND o.event = d.event AND o.endpoint = d.endpoint)`;
  // The joins are in the order of the rows: SQLite would rather scan all deliveries, and keeps this order for CROSS JOIN alone.
  // SQLite uses the index without delivered outcomes only for its own condition.
  const again = sql`
    SELECT event, endpoint FROM ${outcome}
    WHERE ${names.instance.condition} AND status = 'pending' AND status <> 'delivered' AND ${of(sql`endpoint`)}`;
  const behindCursor = sql`
    SELECT d.event, d.endpoint FROM ${lane} l CROSS JOIN ${delivery} d
    WHERE ${names.instance.conditionOf('d')} AND d.endpoint = l.endpoint AND d.event > l.cursor AND ${names.instance.conditionOf('l')} AND ${of(sql`l.endpoint`)} AND ${hasNone}`;
  const ofReplay = sql`
    SELECT d.event, d.endpoint FROM ${names.table('$replay')} r CROSS JOIN ${lane} l CROSS JOIN ${delivery} d
    WHERE ${names.instance.conditionOf('r')} AND r.state = 'running' AND ${of(sql`r.endpoint`)} AND ${names.instance.conditionOf('l')} AND l.endpoint = r.endpoint
      AND ${names.instance.conditionOf('d')} AND d.endpoint = r.endpoint AND d.event BETWEEN r.first AND r.last AND d.event <= l.cursor AND ${hasNone}`;
  return [again, behindCursor, ofReplay];
}
