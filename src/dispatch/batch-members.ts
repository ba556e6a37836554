import { fromTimestamp } from '../base/timestamp.ts';
import { isOneOf } from '../deliveries/deliveries.ts';
import { sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';
import type { DueBatch } from './slots.ts';

/** Returns when an event was made, in milliseconds since 1970; 0 where there is none. */
export async function readCreated(reader: Reader, event: number): Promise<number> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT created FROM ${names.table('$event')} WHERE ${names.instance.condition} AND position = ${event}`,
  );
  return row === undefined ? 0 : fromTimestamp(String(row[0]));
}

interface MembersQuery {
  readonly endpoint: number;
  readonly batch: DueBatch;
  /** The most bytes of bodies, unless the first event alone has more. */
  readonly bytesMax: number;
}

/** Returns the events of a batch: all of one that was sent before, or as many as may be sent together. Reads no bodies. */
export async function readMembers(
  reader: Reader,
  { endpoint, batch, bytesMax }: MembersQuery,
): Promise<readonly number[]> {
  return batch.id === ''
    ? readFitting(reader, batch.events, bytesMax)
    : readStored(reader, { endpoint, id: batch.id });
}

async function readStored(
  reader: Reader,
  { endpoint, id }: { readonly endpoint: number; readonly id: string },
): Promise<readonly number[]> {
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT event FROM ${names.table('$outcome')}
    WHERE ${names.instance.condition} AND endpoint = ${endpoint} AND batch = ${id} AND status = 'pending' ORDER BY event`);
  return rows.map(([event]) => Number(event));
}

/** Returns the first of these events whose bodies have no more bytes together. A larger one is sent with its id alone. */
async function readFitting(
  reader: Reader,
  events: readonly number[],
  bytesMax: number,
): Promise<readonly number[]> {
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT position, length(body) FROM ${names.table('$event')}
    WHERE ${names.instance.condition} AND ${isOneOf(names, sql`position`, events)}`);
  const lengths = new Map(rows.map(([position, length]) => [Number(position), Number(length)]));
  let bytes = 0;
  const end = events.findIndex((event, at) => {
    const length = lengths.get(event) ?? 0;
    bytes += length > bytesMax ? 0 : length;
    return at > 0 && bytes > bytesMax;
  });
  return end === -1 ? events : events.slice(0, end);
}
