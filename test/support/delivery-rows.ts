import { sql } from '../../src/sql/sql.ts';
import type { Reader } from '../../src/storage/database.ts';
import type { DeliveryKey } from '../../src/deliveries/deliveries.ts';

/** Returns the keys of an instance's deliveries, in the order of the log. */
export async function deliveryKeys(reader: Reader): Promise<readonly DeliveryKey[]> {
  const { names } = reader;
  const rows = await reader.tuples(
    sql`SELECT event, endpoint FROM ${names.table('$delivery')} WHERE ${names.instance.condition} ORDER BY event, endpoint`,
  );
  return rows.map(([event, endpoint]) => ({ event: Number(event), endpoint: Number(endpoint) }));
}

const columns = `e.id || '-' || p.id AS id, d.event, p.id AS endpoint, coalesce(o.status, 'pending') AS status,
  coalesce(o.attempts, 0) AS attempts, o.due, o.updated`;

/** FROM items with a row for each delivery and what became of it, for what reads past the product. */
export const storedDeliveries = {
  sqlite: `(SELECT ${columns} FROM "$delivery" d JOIN "$event" e ON e.position = d.event
    JOIN "$endpoint" p ON p.position = d.endpoint
    LEFT JOIN "$outcome" o ON o.event = d.event AND o.endpoint = d.endpoint) AS delivery`,
  postgres: `(SELECT d.instance_id, ${columns}
    FROM chancery.delivery d JOIN chancery.event e ON e.instance_id = d.instance_id AND e.position = d.event
    JOIN chancery.endpoint p ON p.instance_id = d.instance_id AND p.position = d.endpoint
    LEFT JOIN chancery.outcome o ON o.instance_id = d.instance_id AND o.event = d.event AND o.endpoint = d.endpoint) AS delivery`,
} as const;
