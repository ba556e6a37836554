import { fromTimestamp, type Timestamp, toTimestamp } from '../../base/timestamp.ts';
import { recordEventKinds } from '../../events/event.ts';
import { findTime } from '../../events/find-event.ts';
import { readTrimmed } from '../../events/trimmed.ts';
import { limit, sql } from '../../sql/sql.ts';
import type { Reader } from '../../storage/database.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Deliveries of an endpoint that are read, the newest first. */
const matchesMax = 10_000;
/** Events that are searched for one that it could have received, the newest first. */
const eventsMax = 65_536;

/** The changes that an endpoint's subscription matched, whatever the status of their deliveries. */
export interface EndpointMatches {
  /** When the last of them happened; empty where the log has none. */
  readonly lastMatch: Timestamp;
  /** How many happened in the last 24 hours. Not more than `matchesMax` are counted. */
  readonly matches: number;
  readonly matchesMax: number;
  readonly matchesIsAtLeast: boolean;
  /** Whether it has a filter that matched no change of its collections since it was created, although there were some. */
  readonly isNeverMatched: boolean;
}

type Matching = Pick<Endpoint, 'number' | 'filter' | 'owner' | 'events' | 'collections' | 'created'>;

/** Reads from the log which changes matched an endpoint. Tests and backfills do not count. */
export async function readMatches(
  reader: Reader,
  endpoint: Matching,
  { now, max = matchesMax }: { readonly now: number; readonly max?: number },
): Promise<EndpointMatches> {
  const { names } = reader;
  const dayAgo = await findTime(reader, toTimestamp(now - dayMs));
  const [row] = await reader.search(sql`
    WITH newest AS MATERIALIZED (
      SELECT event FROM ${names.table('$delivery')} WHERE ${names.instance.condition} AND endpoint = ${endpoint.number}
      ORDER BY event DESC${limit(max)})
    SELECT (SELECT count(*) FROM newest), (SELECT min(event) FROM newest), count(CASE WHEN e.position > ${dayAgo} THEN 1 END), max(e.created)
    FROM newest JOIN ${names.table('$event')} e ON ${names.instance.conditionOf('e')} AND e.position = newest.event AND e.kind${names.anyOf(recordEventKinds)}`);
  const [walked, first, matches, last] = row ?? [];
  const isAll = Number(walked) < max;
  return {
    lastMatch: typeof last === 'string' ? last : '',
    matches: Number(matches),
    matchesMax: max,
    matchesIsAtLeast: !isAll && Number(first) > dayAgo,
    isNeverMatched: isAll && last === null && (await isNeverMatched(reader, endpoint)),
  };
}

export const neverMatchedWarning =
  'The filter has matched no change since the endpoint was created, although there were changes in its collections.';

/** Endpoints that are searched for a filter that never matched, with the newest of their deliveries. */
const checkedMax = { endpoints: 20, deliveries: 1_000 } as const;

/** Whether the filter of an endpoint never matched, by its newest deliveries: false where most of them are of no change. */
export async function hasNeverMatched(reader: Reader, endpoint: Matching, now: number): Promise<boolean> {
  if (endpoint.filter === '' || endpoint.owner !== '') return false;
  return (await readMatches(reader, endpoint, { now, max: checkedMax.deliveries })).isNeverMatched;
}

/** Returns those endpoints whose filter never matched, of the first that no attempt was made for. */
export async function findNeverMatched<One extends Matching & Pick<Endpoint, 'status'>>(
  reader: Reader,
  endpoints: readonly One[],
  now: number,
): Promise<readonly One[]> {
  const filtered = endpoints.filter(
    (one) => one.filter !== '' && one.owner === '' && one.status === 'active',
  );
  if (filtered.length === 0) return [];
  const { names } = reader;
  const rows = await reader.tuples(
    sql`SELECT DISTINCT endpoint FROM ${names.table('$endpoint_hour')} WHERE ${names.instance.condition} AND endpoint${names.anyNumberOf(filtered.map(({ number }) => number))}`,
  );
  const attempted = new Set(rows.map(([number]) => Number(number)));
  const candidates = filtered.filter(({ number }) => !attempted.has(number)).slice(0, checkedMax.endpoints);
  const unmatched: One[] = [];
  for (const one of candidates) if (await hasNeverMatched(reader, one, now)) unmatched.push(one);
  return unmatched;
}

/**
 * Whether an endpoint that has no delivery of a change has a filter that never matched. False where attempts were made before the log
 * begins, as these may have been of changes; and for one of an account, which must not learn about other events.
 */
async function isNeverMatched(reader: Reader, endpoint: Matching): Promise<boolean> {
  const { filter, owner, number, created } = endpoint;
  if (filter === '' || owner !== '') return false;
  const { names } = reader;
  const trimmed = await readTrimmed(reader);
  if (trimmed.time !== '' && trimmed.time >= created) {
    const hour = Math.floor(fromTimestamp(trimmed.time) / hourMs);
    const attempts = await reader.tuples(
      sql`SELECT 1 FROM ${names.table('$endpoint_hour')} WHERE ${names.instance.condition} AND endpoint = ${number} AND hour <= ${hour} LIMIT 1`,
    );
    if (attempts.length > 0) return false;
  }
  return couldMatch(reader, endpoint);
}

/** Whether an event since the creation of the endpoint would have matched without its filter. */
async function couldMatch(reader: Reader, { events, collections, created }: Matching): Promise<boolean> {
  const { names } = reader;
  const after = await findTime(reader, created);
  const kinds = recordEventKinds.filter((kind) => events.includes(kind));
  const ofCollections = collections.length === 0 ? sql`` : sql` AND collection${names.anyOf(collections)}`;
  const rows = await reader.search(sql`
    WITH newest AS MATERIALIZED (
      SELECT kind, collection FROM ${names.table('$event')} WHERE ${names.instance.condition} AND position > ${after}
      ORDER BY position DESC${limit(eventsMax)})
    SELECT 1 FROM newest WHERE kind${names.anyOf(kinds)}${ofCollections} LIMIT 1`);
  return rows.length > 0;
}
