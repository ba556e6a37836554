import { type Timestamp, toTimestamp } from '../../base/timestamp.ts';
import { noteTrimmed, readTrimmed } from '../../events/trimmed.ts';
import { limit, sql, type Sql } from '../../sql/sql.ts';
import type { Names, Reader, Transaction } from '../../storage/database.ts';
import { undecidedFrom } from '../decision-cursor.ts';
import { forgetHeld } from '../../endpoints/held-records.ts';
import { cancelFailed, deletedCause } from '../delivery-outcomes.ts';
import { addToDays, expiredOf, trimDays } from '../endpoint-days.ts';
import { releaseStray } from '../record-order.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';

/** Events of one transaction, and deliveries or attempts unless one event alone has more: writes of records wait for it. */
const trimmedTogetherMax = 500;
const rowsTogetherMax = 2_048;

/** What one transaction deleted from the log, and what was lost with it. */
export interface TrimmedCount {
  readonly events: number;
  /** Deliveries that were still to be sent. */
  readonly expired: number;
  /** The position up to which nothing is left. */
  readonly last: number;
}

/**
 * Deletes events that are older than `before` (milliseconds since 1970), the oldest first, with their deliveries, outcomes and attempts.
 * One transaction deletes some of them; returns the counts, 0 when none is that old. `from` is where the previous one ended, or
 * 0: on PostgreSQL, a search that begins at the first row steps over all deleted ones.
 */
export function trimLog(
  { database, dueClock }: Pick<WebhookInstance, 'database' | 'dueClock'>,
  { before, from }: { readonly before: number; readonly from: number },
): Promise<TrimmedCount> {
  const now = dueClock.now();
  return database.write((tx) => trim(tx, { before: toTimestamp(before), from, now }), { findsByKey: true });
}

async function trim(
  tx: Transaction,
  { before, from, now }: { readonly before: string; readonly from: number; readonly now: number },
): Promise<TrimmedCount> {
  const { names } = tx;
  // Events that are not decided yet for endpoints of accounts are kept, however old they are.
  const undecided = await undecidedFrom(tx);
  const upToDecided = undecided === undefined ? sql`` : sql` AND position <= ${undecided}`;
  const [row] = await tx.tuples(sql`
    SELECT max(CASE WHEN created < ${before} THEN position END), count(CASE WHEN created < ${before} THEN 1 END),
      max(CASE WHEN created < ${before} THEN created END) FROM (
      SELECT position, created FROM ${names.table('$event')}
      WHERE ${names.instance.condition} AND position > ${from} AND ${fewRows(names, from)}${upToDecided}
      ORDER BY position${limit(trimmedTogetherMax)}) AS oldest`);
  const [last, events, time] = row ?? [];
  if (typeof last !== 'number') return { events: 0, expired: 0, last: from };
  const waiting = await tx.tuples(
    sql`SELECT d.endpoint, count(*) ${waitingRows(names, { from, last })} GROUP BY d.endpoint`,
  );
  const ended = waiting.map(([endpoint, count]) => expiredOf(Number(endpoint), Number(count)));
  const expired = ended.reduce((sum, { count }) => sum + count, 0);
  await addToDays(tx, ended, now);
  await deleteEvents(tx, { from, last, time: String(time) });
  if (expired > 0) await releaseStray(tx, now);
  return { events: Number(events), expired, last };
}

interface LogRange {
  readonly from: number;
  readonly last: number;
}

/** Deletes the events behind a position, which is the end of what was deleted before, with everything of them. */
async function deleteEvents(
  tx: Transaction,
  { from, last, time }: LogRange & { readonly time: Timestamp },
): Promise<void> {
  const { names } = tx;
  const between = (table: Sql, position: Sql): Sql =>
    sql`DELETE FROM ${table} WHERE ${names.instance.condition} AND ${position} > ${from} AND ${position} <= ${last}`;
  for (const name of ['$attempt', '$outcome', '$delivery'] as const)
    await tx.run(between(names.table(name), sql`event`));
  await tx.run(between(names.table('$event'), sql`position`));
  await tx.run(between(names.table('$gap'), sql`last`));
  await tx.run(sql`
    UPDATE ${names.table('$lane')} SET cursor = ${last} WHERE ${names.instance.condition} AND cursor < ${last}`);
  await noteTrimmed(tx, { position: last, time });
}

/** What may be deleted from a log that is too large, and what one transaction deleted of it. */
export interface UnneededEvents {
  readonly events: number;
  /** Of their bodies and hidden fields, as `measureLog` counts them. */
  readonly bytes: number;
}

/** From which events a log that is too large may be trimmed. */
export interface TrimLimits {
  /** Events that were made later are kept, in milliseconds since 1970: readers of the log are about to read them. */
  readonly before: number;
  /** No event can appear any more at this position or before it. */
  readonly safe: number;
  /** How many bytes are to be deleted: the last event deleted is the one that completes them. */
  readonly bytes: number;
}

/**
 * Deletes the oldest events, however old they are, up to the first one that is still needed. One transaction deletes some of them; returns 0
 * when the oldest one is needed.
 */
export function trimUnneeded(
  { database }: Pick<WebhookInstance, 'database'>,
  limits: TrimLimits,
): Promise<UnneededEvents> {
  return database.write(
    async (tx) => {
      const { range, ...unneeded } = await readUnneeded(tx, limits, trimmedTogetherMax);
      if (range !== undefined) await deleteEvents(tx, range);
      return unneeded;
    },
    { findsByKey: true },
  );
}

/** Returns whether the oldest event may be deleted. */
export async function hasUnneeded(reader: Reader, limits: TrimLimits): Promise<boolean> {
  return (await readUnneeded(reader, limits, 1)).events > 0;
}

/**
 * Reads the oldest events that nothing needs: each delivery of theirs is over, they are decided for endpoints of accounts, and no replay has
 * yet to come to them.
 */
async function readUnneeded(
  reader: Reader,
  { before, safe, bytes: bytesMax }: TrimLimits,
  eventsMax: number,
): Promise<UnneededEvents & { readonly range?: LogRange & { readonly time: Timestamp } }> {
  const { names } = reader;
  const { position: from } = await readTrimmed(reader);
  const undecided = (await undecidedFrom(reader)) ?? safe;
  const upTo = Math.min(safe, undecided, await replayedFrom(reader));
  const oldest = await reader.tuples(sql`
    SELECT position, created, length(body) + coalesce(octet_length(hidden), 0) FROM ${names.table('$event')}
    WHERE ${names.instance.condition} AND position > ${from} AND position <= ${upTo}
      AND ${fewRows(names, from)}
    ORDER BY position${limit(eventsMax)}`);
  const young = oldest.findIndex(([, created]) => String(created) >= toTimestamp(before));
  const old = young === -1 ? oldest : oldest.slice(0, young);
  const end = Number(old.at(-1)?.[0] ?? from);
  const [waiting] = await reader.tuples(sql`SELECT min(d.event) ${waitingRows(names, { from, last: end })}`);
  const first = waiting?.[0] ?? Number.POSITIVE_INFINITY;
  let bytes = 0;
  const rows = old
    .filter(([position]) => Number(position) < Number(first))
    .filter(([, , size]) => {
      const isNeeded = bytes < bytesMax;
      if (isNeeded) bytes += Number(size);
      return isNeeded;
    });
  const last = rows.at(-1);
  if (last === undefined) return { events: 0, bytes: 0 };
  return { events: rows.length, bytes, range: { from, last: Number(last[0]), time: String(last[1]) } };
}

/** Returns the position before the first event that a running replay has yet to come to. */
async function replayedFrom(reader: Reader): Promise<number> {
  const { names } = reader;
  const [row] = await reader.tuples(sql`
    SELECT min(CASE WHEN is_descending = 1 THEN first - 1 ELSE cursor END) FROM ${names.table('$replay')}
    WHERE ${names.instance.condition} AND state = 'running' AND scope <> 'backfill'`);
  return typeof row?.[0] === 'number' ? row[0] : Number.MAX_SAFE_INTEGER;
}

/** The condition that the events behind `from`, up to this one, have no more deliveries and attempts than one transaction deletes. */
function fewRows(names: Names, from: number): Sql {
  const upToRows = (table: Sql): Sql => sql`position <= ${endOfRows(names, table, from)}`;
  return sql`${upToRows(names.table('$delivery'))} AND ${upToRows(names.table('$attempt'))}`;
}

/** The position up to which this table has no more rows behind `from` than one transaction deletes, or those of one event. */
function endOfRows(names: Names, table: Sql, from: number): Sql {
  return sql`(
    SELECT CASE WHEN count(*) < ${rowsTogetherMax} THEN 9007199254740991 WHEN min(event) < max(event) THEN max(event) - 1 ELSE max(event) END
    FROM (SELECT event FROM ${table} WHERE ${names.instance.condition} AND event > ${from} ORDER BY event${limit(rowsTogetherMax)}) AS first_rows)`;
}

/** The deliveries of endpoints, paused or not, that are still to be sent. */
function waitingRows(names: Names, { from, last }: LogRange): Sql {
  const outcome = names.table('$outcome');
  return sql`FROM ${names.table('$delivery')} d
    JOIN ${names.table('$lane')} l ON ${names.instance.conditionOf('l')} AND l.endpoint = d.endpoint
    LEFT JOIN ${outcome} o ON ${names.instance.conditionOf('o')} AND o.event = d.event AND o.endpoint = d.endpoint
    WHERE ${names.instance.conditionOf('d')} AND d.event > ${from} AND d.event <= ${last}
      AND (o.status = 'pending' OR (o.event IS NULL AND d.event > l.cursor))`;
}

/** Cancels the remaining deliveries of deleted endpoints, and removes deleted endpoints that the log no longer names. */
export async function tidyDeleted({ database, dueClock }: WebhookInstance): Promise<void> {
  const { names } = database;
  const endpoint = names.table('$endpoint');
  const left = await database.tuples(sql`
    SELECT position FROM ${endpoint} p WHERE ${names.instance.conditionOf('p')} AND deleted <> '' AND EXISTS (
      SELECT 1 FROM ${names.table('$outcome')} o
      WHERE ${names.instance.conditionOf('o')} AND o.endpoint = p.position AND o.status = 'pending')`);
  for (const [number] of left)
    await cancelFailed({ database, dueClock }, { endpoint: Number(number), cause: deletedCause });
  const holding = await database.tuples(sql`
    SELECT position FROM ${endpoint} p WHERE ${names.instance.conditionOf('p')} AND deleted <> '' AND EXISTS (
      SELECT 1 FROM ${names.table('$held')} h WHERE ${names.instance.conditionOf('h')} AND h.endpoint = p.position)`);
  for (const [number] of holding) while ((await database.write((tx) => forgetHeld(tx, Number(number)))) > 0);
  const first = sql`(SELECT created FROM ${names.table('$event')} WHERE ${names.instance.condition} ORDER BY position LIMIT 1)`;
  // By the time alone, one would be removed too early when the clock was set back. For most, the time decides without a search.
  const isNamed = sql`EXISTS (SELECT 1 FROM ${names.table('$delivery')} d WHERE ${names.instance.conditionOf('d')} AND d.endpoint = p.position)`;
  await database.write((tx) => trimDays(tx, dueClock.now()));
  const rows = await database.tuples(sql`
    SELECT position FROM ${endpoint} p
    WHERE ${names.instance.conditionOf('p')} AND deleted <> '' AND deleted < coalesce(${first}, ${toTimestamp(dueClock.now())}) AND NOT ${isNamed}`);
  if (rows.length === 0) return;
  const areGone = names.anyNumberOf(rows.map(([number]) => Number(number)));
  await database.write(async (tx) => {
    for (const name of ['$gap', '$replay', '$endpoint_hour', '$endpoint_day'] as const)
      await tx.run(
        sql`DELETE FROM ${names.table(name)} WHERE ${names.instance.condition} AND endpoint${areGone}`,
      );
    await tx.run(sql`DELETE FROM ${endpoint} WHERE ${names.instance.condition} AND position${areGone}`);
  });
}
