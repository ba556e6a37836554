import { toTimestamp } from '../base/timestamp.ts';
import { limit, sql, type Sql } from '../sql/sql.ts';
import type { Database, Reader, Transaction } from '../storage/database.ts';

/*
 * How large the log of an instance is. Its events are added up in parts of 10,000, and the size of each part is kept in `$quota`, so that most of a
 * long log is read once: later only its first part, which may have lost its oldest events, and what is new.
 */

/** The events of a part, which one statement reads. */
const partEvents = 10_000;
/** New parts that are read at once, of a log that was never measured. */
const partsMax = 100;
/** How long a transaction may take that has drawn the position of an event: a part ends before it. */
const settledMs = 60_000;
/** The rows of parts, each with its last position and its bytes. */
const ofParts = 'log part';

interface LogPart {
  readonly last: number;
  readonly bytes: number;
}

/**
 * Adds up the bytes of the events that are in the log, without their deliveries and attempts. Returns undefined where the log has more than a
 * million events that were never read: the next time goes on with them.
 */
export async function measureLog(database: Database, nowMs: number): Promise<number | undefined> {
  const { names } = database;
  const [oldest] = await database.tuples(sql`
    SELECT position FROM ${names.table('$event')} WHERE ${names.instance.condition} ORDER BY position${limit(1)}`);
  const first = oldest === undefined ? Number.MAX_SAFE_INTEGER : Number(oldest[0]);
  const stored = await readParts(database);
  const parts = stored.filter(({ last }) => last >= first);
  const [part, ...later] = parts;
  const ofPart = part && (await readSize(database, sql`position <= ${part.last}`));
  let bytes = (ofPart?.bytes ?? 0) + later.reduce((sum, one) => sum + one.bytes, 0);
  const added: LogPart[] = [];
  const settledBefore = toTimestamp(nowMs - settledMs);
  let isWhole = false;
  for (let from = parts.at(-1)?.last ?? 0; !isWhole && added.length < partsMax;) {
    const next = await readSize(database, sql`position > ${from}`);
    bytes += next.bytes;
    from = next.last;
    isWhole = next.events < partEvents;
    if (!isWhole && next.created < settledBefore) added.push(next);
  }
  if (added.length > 0 || parts.length < stored.length)
    await database.write((tx) => storeParts(tx, { first, added }));
  return isWhole ? bytes : undefined;
}

interface PartSize extends LogPart {
  readonly events: number;
  readonly created: string;
}

/** Reads the size of the first events that meet a condition, at most those of a part. */
async function readSize(database: Database, condition: Sql): Promise<PartSize> {
  const { names } = database;
  const [row = []] = await database.search(sql`
    SELECT count(*), max(position), max(created), CAST(sum(bytes) AS bigint) FROM (
      SELECT position, created, length(body) + coalesce(octet_length(hidden), 0) AS bytes FROM ${names.table('$event')}
      WHERE ${names.instance.condition} AND ${condition} ORDER BY position${limit(partEvents)}) AS part`);
  const [events, last, created, bytes] = row;
  return { events: Number(events), last: Number(last), created: String(created), bytes: Number(bytes) };
}

async function readParts(reader: Reader): Promise<readonly LogPart[]> {
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT shard, room FROM ${names.table('$quota')} WHERE ${names.instance.condition} AND name = ${ofParts} ORDER BY shard`);
  return rows.map(([last, bytes]) => ({ last: Number(last), bytes: Number(bytes) }));
}

/** Another node may store the same parts. */
async function storeParts(
  tx: Transaction,
  { first, added }: { readonly first: number; readonly added: readonly LogPart[] },
): Promise<void> {
  const { names } = tx;
  const table = names.table('$quota');
  await tx.run(
    sql`DELETE FROM ${table} WHERE ${names.instance.condition} AND name = ${ofParts} AND shard < ${first}`,
  );
  for (const { last, bytes } of added)
    await tx.run(sql`
      INSERT INTO ${table} (${names.instance.column}name, shard, room, max)
      VALUES (${names.instance.value}${ofParts}, ${last}, ${bytes}, 0) ON CONFLICT DO NOTHING`);
}
