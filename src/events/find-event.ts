import { idTime } from '../base/ids.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { foundByKeys, sql, type Sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';

/** How far the clocks of nodes may be apart: so far from its time an event may stand in the log. */
const apartMs = 5_000;
const readTogetherMax = 5_000;

/**
 * Finds the position of an event by its id. There is no index on ids, which would make every write more expensive; but an id begins with its time,
 * and the log is nearly in the order of time. If the clock was set back by more than a few seconds, the whole log is searched.
 */
export async function findEvent(reader: Reader, id: string): Promise<number | undefined> {
  const time = idTime(id);
  if (time === undefined) return undefined;
  const begin = await findTime(reader, toTimestamp(time - apartMs));
  const near = await findBehind(reader, { id, begin, until: toTimestamp(time + apartMs) });
  return near ?? (await searchAll(reader, id));
}

/** Returns a position with no event at or before it that was made at or after this time, where the log is in the order of time. */
export async function findTime(reader: Reader, time: string): Promise<number> {
  const [range] = await reader.tuples(foundByKeys(sql`SELECT min(position), max(position) ${from(reader)}`));
  let low = Number(range?.[0] ?? 0) - 1;
  let high = Number(range?.[1] ?? 0);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [row] = await reader.tuples(
      foundByKeys(
        sql`SELECT position, created ${from(reader)} AND position > ${middle} ORDER BY position LIMIT 1`,
      ),
    );
    if (row === undefined || String(row[1]) >= time) high = middle;
    else low = Number(row[0]);
  }
  return low;
}

interface Near {
  readonly id: string;
  readonly begin: number;
  readonly until: string;
}

async function findBehind(reader: Reader, { id, begin, until }: Near): Promise<number | undefined> {
  let last: number | undefined = begin;
  while (last !== undefined) {
    const near = sql`
      SELECT max(position), max(CASE WHEN id = ${id} THEN position END), min(created) FROM (
        SELECT position, id, created ${from(reader)} AND position > ${last} ORDER BY position LIMIT CAST(${readTogetherMax} AS bigint)) AS near`;
    const [row] = await reader.tuples(foundByKeys(near));
    const [end, match, created] = row ?? [];
    if (typeof match === 'number') return match;
    last = typeof end === 'number' && String(created) <= until ? end : undefined;
  }
  return undefined;
}

async function searchAll(reader: Reader, id: string): Promise<number | undefined> {
  const isInTime = reader.names.isInTime(sql`position`, 'for some');
  const inTime = isInTime === undefined ? sql`` : sql` AND ${isInTime}`;
  const [row] = await reader.search(sql`SELECT position ${from(reader)}${inTime} AND id = ${id} LIMIT 1`);
  return typeof row?.[0] === 'number' ? row[0] : undefined;
}

function from({ names }: Reader): Sql {
  return sql`FROM ${names.table('$event')} WHERE ${names.instance.condition}`;
}
