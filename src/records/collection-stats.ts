import { type Caller, reaches } from '../access/caller.ts';
import { toTimestamp } from '../base/timestamp.ts';
import type { Collection } from '../collections/collection.ts';
import { findTime } from '../events/find-event.ts';
import type { Instance } from '../instances/instance.ts';
import { joinSql, limit, sql, type Sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';

/** Rows that one request counts in all, which takes a thread of the engine some tens of milliseconds, shared by the collections. */
const recordsInAllMax = 2_000_000;
/** Rows of each collection that are counted, however many collections there are. */
const recordsMin = 1_000;
/** Collections that one statement counts. */
const countedTogetherMax = 100;
/** Events that are counted, the newest first. */
const eventsMax = 65_536;
const dayMs = 86_400_000;

/** How many records a collection has, and how many were changed in the last 24 hours, as far as the event log has them. */
interface CollectionStats {
  readonly id: string;
  readonly name: string;
  readonly type: Collection['type'];
  /** Null for a view, whose records its query makes. */
  readonly records: number | null;
  /** Whether there are more than `records`, which is `recordsMax` then. */
  readonly recordsIsAtLeast: boolean;
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
}

export interface AllCollectionStats {
  readonly collections: readonly CollectionStats[];
  readonly recordsMax: number;
  readonly changesMax: number;
  /** Whether there were more events in the last 24 hours than were counted. */
  readonly changesIsAtLeast: boolean;
}

interface StatsOptions {
  readonly recordsAll?: number;
  readonly changesMax?: number;
}

/** Returns counts of all collections that the caller reaches, by name: three statements for up to a hundred of them, each of bounded cost. */
export async function collectionStats(
  { database, collections, clock }: Pick<Instance, 'database' | 'collections' | 'clock'>,
  caller: Caller,
  { recordsAll = recordsInAllMax, changesMax = eventsMax }: StatsOptions = {},
): Promise<AllCollectionStats> {
  const reached = collections
    .all()
    .filter((collection) => !collection.system && reaches(caller, collection))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const recordsMax = Math.max(recordsMin, Math.floor(recordsAll / Math.max(1, reached.length)));
  const counts = await countRecords(database, reached, recordsMax);
  const { changes, events } = await countChanges(database, clock.now(), changesMax);
  return {
    collections: reached.map(({ id, name, type }) => {
      const count = counts.get(id);
      const changed = (kind: string): number => changes.get(`${kind} ${id}`) ?? 0;
      return {
        id,
        name,
        type,
        records: count === undefined ? null : Math.min(count, recordsMax),
        recordsIsAtLeast: (count ?? 0) > recordsMax,
        created: changed('record.create'),
        updated: changed('record.update'),
        deleted: changed('record.delete'),
      };
    }),
    recordsMax,
    changesMax,
    changesIsAtLeast: events >= changesMax,
  };
}

/** Counts records by the ids of collections, each up to one more than `max`. */
async function countRecords(
  reader: Reader,
  collections: readonly Collection[],
  max: number,
): Promise<ReadonlyMap<string, number>> {
  const { names } = reader;
  const isInTime = names.isInTime(sql`"$position"`, 'for some');
  const inTime = isInTime === undefined ? sql`` : sql` WHERE ${isInTime}`;
  const stored = collections.filter(({ type }) => type !== 'view');
  const counts = new Map<string, number>();
  for (let first = 0; first < stored.length; first += countedTogetherMax) {
    const some = stored.slice(first, first + countedTogetherMax);
    const columns = some.map(
      ({ name }): Sql =>
        sql`(SELECT count(*) FROM (SELECT 1 FROM ${names.collectionTable(name)}${inTime}${limit(max + 1)}) AS counted)`,
    );
    const [row = []] = await reader.search(sql`SELECT ${joinSql(columns, ', ')}`);
    for (const [at, { id }] of some.entries()) counts.set(id, Number(row[at]));
  }
  return counts;
}

/** Counts the events of the last 24 hours by kind and collection, the newest `max` of them. */
async function countChanges(
  reader: Reader,
  now: number,
  max: number,
): Promise<{ readonly changes: ReadonlyMap<string, number>; readonly events: number }> {
  const { names } = reader;
  const after = await findTime(reader, toTimestamp(now - dayMs));
  const isInTime = names.isInTime(sql`position`, 'for some');
  const inTime = isInTime === undefined ? sql`` : sql` AND ${isInTime}`;
  const rows = await reader.search(sql`
    SELECT kind, collection, count(*) FROM (
      SELECT kind, collection FROM ${names.table('$event')}
      WHERE ${names.instance.condition} AND position > ${after}${inTime} ORDER BY position DESC${limit(max)}) AS newest
    GROUP BY kind, collection`);
  const changes = new Map<string, number>();
  let events = 0;
  for (const [kind, collection, count] of rows) {
    changes.set(`${String(kind)} ${String(collection)}`, Number(count));
    events += Number(count);
  }
  return { changes, events };
}
