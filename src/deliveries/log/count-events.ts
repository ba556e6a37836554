import { fromTimestamp, toTimestamp } from '../../base/timestamp.ts';
import { recordEventKinds } from '../../events/event.ts';
import { findTime } from '../../events/find-event.ts';
import { readTrimmed } from '../../events/trimmed.ts';
import { limit, sql, type Sql } from '../../sql/sql.ts';
import type { Reader } from '../../storage/database.ts';
import type { EndpointSettings } from '../../endpoints/endpoint-options.ts';
import { wants } from '../../endpoints/endpoint.ts';

/** Events are counted in the log. One request reads so many, from the newest back. */
const countedEventsMax = 65_536;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const averagedDays = 7;

interface AverageOptions {
  readonly now: number;
  readonly eventsMax?: number;
  /** Returns which part of the events of a collection, by its id, meets the filter. */
  readonly shareOf?: (collection: string) => Promise<number>;
}

/** Collections whose events are asked for their share; of the others all are counted. */
const askedCollectionsMax = 10;

/**
 * Returns how many events a day an endpoint with these options would have received, on the average of the last seven days. Where these
 * have more than `eventsMax`, or the log is shorter, it is the average of the time that was read, an hour at least.
 */
export async function averageEventsPerDay(
  reader: Reader,
  endpoint: Pick<EndpointSettings, 'events' | 'collections'>,
  { now, eventsMax = countedEventsMax, shareOf }: AverageOptions,
): Promise<number> {
  const trimmed = await readTrimmed(reader);
  const begin = now - averagedDays * dayMs;
  const after = Math.max(trimmed.position, await findTime(reader, toTimestamp(begin)));
  const newest = newestEvents(reader, sql`position > ${after}`, eventsMax);
  const rows = await reader.search(
    sql`SELECT kind, collection, count(*), min(created) FROM (${newest}) AS newest GROUP BY kind, collection`,
  );
  let all = 0;
  const counts = new Map<string, number>();
  let oldest = now;
  for (const [name, collection, count, first] of rows) {
    all += Number(count);
    oldest = Math.min(oldest, fromTimestamp(String(first)));
    const kind = recordEventKinds.find((one) => one === name);
    const id = String(collection);
    if (kind !== undefined && wants(endpoint, { kind, collection: id }))
      counts.set(id, (counts.get(id) ?? 0) + Number(count));
  }
  let matches = 0;
  for (const [index, [id, count]] of [...counts].toSorted(([, a], [, b]) => b - a).entries())
    matches += count * (index < askedCollectionsMax ? ((await shareOf?.(id)) ?? 1) : 1);
  const keptSince = trimmed.time === '' ? begin : Math.max(begin, fromTimestamp(trimmed.time));
  const lookedAtSince = all < eventsMax ? keptSince : oldest;
  const days = Math.max(hourMs, now - lookedAtSince) / dayMs;
  return Math.round((matches / days) * 10) / 10;
}

/**
 * Counts the changes of records of each step of so many hours, from the hour `start` on and before `end` (hours since 1970). Null for a step that is older
 * than the newest `eventsMax` of them, or than the log. Other events, such as tests and those of backfills, are not counted.
 */
export async function countEventsBySteps(
  reader: Reader,
  { start, end, hours }: { readonly start: number; readonly end: number; readonly hours: number },
  eventsMax = countedEventsMax,
): Promise<readonly (number | null)[]> {
  const trimmed = await readTrimmed(reader);
  const [from, to] = [toTimestamp(start * hourMs), toTimestamp(end * hourMs)];
  const after = Math.max(trimmed.position, await findTime(reader, from));
  const upTo = await findTime(reader, to);
  const newest = newestEvents(reader, sql`position > ${after} AND position <= ${upTo}`, eventsMax);
  const rows = await reader.search(
    sql`SELECT substr(created, 1, 13), count(*), count(CASE WHEN kind${reader.names.anyOf(recordEventKinds)} THEN 1 END) FROM (${newest}) AS newest GROUP BY 1 ORDER BY 1`,
  );
  const counts = rows.map(([hour, count, changes]) => ({
    hour: Math.floor(fromTimestamp(`${String(hour)}:00:00.000Z`) / hourMs),
    count: Number(count),
    changes: Number(changes),
  }));
  const all = counts.reduce((sum, { count }) => sum + count, 0);
  const keptFrom = trimmed.time === '' ? start : hourBehind(trimmed.time);
  // The hour in which the count ended is incomplete.
  const countedFrom = all < eventsMax ? start : (counts[0]?.hour ?? start) + 1;
  const completeFrom = Math.max(keptFrom, countedFrom);
  return Array.from({ length: (end - start) / hours }, (_, index) => {
    const first = start + index * hours;
    if (first < completeFrom) return null;
    return counts.reduce(
      (sum, { hour, changes }) => sum + (hour >= first && hour < first + hours ? changes : 0),
      0,
    );
  });
}

/** Returns the first hour behind a time. */
function hourBehind(time: string): number {
  return Math.floor(fromTimestamp(time) / hourMs) + 1;
}

function newestEvents({ names }: Reader, where: Sql, eventsMax: number): Sql {
  const isInTime = names.isInTime(sql`position`, 'for some');
  const inTime = isInTime === undefined ? sql`` : sql` AND ${isInTime}`;
  return sql`
    SELECT kind, collection, created FROM ${names.table('$event')}
    WHERE ${names.instance.condition} AND ${where}${inTime} ORDER BY position DESC${limit(eventsMax)}`;
}
