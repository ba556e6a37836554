import { numbersOf } from './fill-table.ts';
import type { Store } from './store.ts';

/** The event's columns that all copies share. */
const shared = 'kind, collection, collection_name, revision, created, body';

/**
 * Writes so many events by SQL alone, copies of the last one that an endpoint was told of, each with an id and a record of its own, and
 * tells every endpoint of its instance of all of them. They should be paused, as nobody is woken.
 */
export async function fillLog(store: Store, count: number): Promise<void> {
  const isSqlite = store.engine === 'sqlite';
  const [event, delivery, endpoint] = isSqlite
    ? ['"$event"', '"$delivery"', '"$endpoint"']
    : ['chancery.event', 'chancery.delivery', 'chancery.endpoint'];
  const scope = isSqlite ? '' : 'instance_id, ';
  const [last = ''] = await store.texts(`SELECT max(event) FROM ${delivery}`);
  const numbered = (column: string): string =>
    `substr(${column}, 1, 8) || substr(CAST(10000000 + n AS text), 2)`;
  const copies = numbersOf(store.engine, count).map(
    (numbers) => `INSERT INTO ${event} (${scope}id, record, ${shared})
      SELECT ${scope}${numbered('id')}, ${numbered('record')}, ${shared} FROM ${event}, ${numbers} WHERE position = ${last}`,
  );
  const tell = `INSERT INTO ${delivery} (${scope}event, endpoint)
    SELECT ${isSqlite ? '' : 'e.instance_id, '}e.position, p.position FROM ${event} e, ${endpoint} p
    WHERE p.deleted = '' AND e.position > ${last}${isSqlite ? '' : ' AND p.instance_id = e.instance_id'}`;
  // As autovacuum does within a minute or so.
  const analyze = isSqlite ? [] : [`VACUUM ANALYZE ${event}`, `VACUUM ANALYZE ${delivery}`];
  await store.run(...copies, tell, ...analyze);
}
