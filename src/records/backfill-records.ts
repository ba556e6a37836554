import { operator } from '../access/caller.ts';
import { ruleInputOfCaller } from '../access/rule-input.ts';
import type { Collection } from '../collections/collection.ts';
import { parseFilter } from '../filters/parse.ts';
import { readCurrentCollection } from '../instances/current-collection.ts';
import type { Instance } from '../instances/instance.ts';
import { baseAlias, RecordScope } from '../query/record-scope.ts';
import { limit, sql, type Sql } from '../sql/sql.ts';
import type { Names, Reader, Transaction, Tuple } from '../storage/database.ts';
import type {
  BackfillRecords,
  LockedRecord,
  RangePart,
  RecordChoice,
  RecordRange,
  BackfilledRecord,
} from '../endpoints/backfill-records.ts';
import { findRecord } from './find-record.ts';
import { stateOf } from './note-change.ts';
import { recordTable } from './record-table.ts';
import { fromTuple, type StoredRecord } from './record.ts';

/** Rows scanned by one statement, as a filter may match few of them. */
const walkMax = 4_096;

type Parts = Pick<Instance, 'database' | 'collections' | 'refresh'>;

/** Returns the records of an instance as backfills read them: all of them, as a superuser reads them. */
export function backfillRecords(instance: Parts): BackfillRecords {
  const { database, collections } = instance;
  const tableOf = (names: Names, id: string): Sql => recordTable(collections.get(id)).statements(names).table;
  return {
    find: async (nameOrId) => {
      // Another node may have made it.
      if (collections.find(nameOrId) === undefined) await instance.refresh();
      return collections.find(nameOrId);
    },
    lastPosition: async (tx, id) => {
      const [row] = await tx.tuples(sql`SELECT max("$position") FROM ${tableOf(tx.names, id)}`);
      return Number(row?.[0] ?? 0);
    },
    next: (what, range, foundMax) =>
      readCurrentCollection(instance, what.collection, async (collection) => {
        const part = await readPart(database, collection, range);
        const rows = await database.search(sql`
          SELECT "$position" ${among(instance, { collection, what, range: { ...range, upTo: part.end } })}
          ORDER BY "$position"${limit(foundMax)}`);
        const positions = rows.map(([position]) => Number(position));
        const last = positions.at(-1);
        if (positions.length < foundMax || last === undefined) return { ...part, positions };
        return { positions, end: last, isLast: part.isLast && last === part.end };
      }),
    count: (what, range) =>
      readCurrentCollection(instance, what.collection, async (collection) => {
        const part = await readPart(database, collection, range);
        const [row] = await database.search(
          sql`SELECT count(*) ${among(instance, { collection, what, range: { ...range, upTo: part.end } })}`,
        );
        return { ...part, count: Number(row?.[0]) };
      }),
    lock: async (tx, what, positions) => {
      const collection = collections.get(what.collection);
      const { names } = tx;
      const rows = sql`"$position"${names.anyNumberOf(positions)}`;
      const locked = await lockRows(tx, tableOf(names, collection.id), rows);
      const isAny = what.filter === '' && what.condition === undefined;
      if (isAny || locked.length === 0) return locked;
      // A change that held the lock may have changed whether the record matches the filter.
      const at = sql`"$position"${names.anyNumberOf(locked.map(({ position }) => position))}`;
      const { from } = recordTable(collection).statements(names).joined;
      const matches = await tx.search(
        sql`SELECT "$position" FROM ${from} WHERE ${at} AND ${conditionOf(instance, collection, what)}`,
      );
      const matching = new Set(matches.map(([position]) => Number(position)));
      return locked.filter(({ position }) => matching.has(position));
    },
    lockByIds: (tx, id, ids) => lockRows(tx, tableOf(tx.names, id), sql`id${tx.names.anyOf(ids)}`),
    read: async (tx, { collection: id }, positions) => {
      const collection = collections.get(id);
      const { table, columns } = recordTable(collection).statements(tx.names);
      const rows: readonly Tuple[] = await tx.tuples(sql`
        SELECT ${columns} FROM ${table} WHERE "$position"${tx.names.anyNumberOf(positions)} ORDER BY "$position"`);
      return rows.map((row) => toState(fromTuple(collection, row)));
    },
    present: (collectionId, id) =>
      readCurrentCollection(instance, collectionId, async (collection) => {
        const record = await findRecord(database, collection, id);
        return record && toState(record);
      }),
  };
}

/** Locks rows in the order of their positions. */
async function lockRows(tx: Transaction, table: Sql, condition: Sql): Promise<readonly LockedRecord[]> {
  const rows = await tx.tuples(sql`
    SELECT "$position", id, "$revision" FROM ${table} WHERE ${condition} ORDER BY "$position"${tx.names.locks.forUpdate}`);
  return rows.map(([position, id, revision]) => ({
    position: Number(position),
    id: String(id),
    revision: Number(revision),
  }));
}

function toState(record: StoredRecord): BackfilledRecord {
  return { about: stateOf(record), change: { collection: record.collection, after: record.values } };
}

/** Returns the part of a range that one statement scans. */
async function readPart(
  reader: Reader,
  collection: Collection,
  { after, upTo }: RecordRange,
): Promise<RangePart> {
  const { table } = recordTable(collection).statements(reader.names);
  const [row] = await reader.tuples(sql`
    SELECT max("$position"), count(*) FROM (
      SELECT "$position" FROM ${table} WHERE "$position" > ${after} AND "$position" <= ${upTo} ORDER BY "$position"${limit(walkMax)}) AS walked`);
  const [end, count] = row ?? [];
  return { end: typeof end === 'number' ? end : after, isLast: Number(count) < walkMax };
}

interface RecordSearch {
  readonly collection: Collection;
  readonly what: RecordChoice;
  readonly range: RecordRange;
}

/** FROM and WHERE of the records of a range that match the filter. */
function among(instance: Parts, { collection, what, range }: RecordSearch): Sql {
  const { names } = instance.database;
  const { from } = recordTable(collection).statements(names).joined;
  const isInTime = names.isInTime(sql`"$position"`, 'for some');
  const inTime = isInTime === undefined ? sql`` : sql` AND ${isInTime}`;
  return sql`FROM ${from} WHERE "$position" > ${range.after} AND "$position" <= ${range.upTo}${inTime}
    AND ${conditionOf(instance, collection, what)}`;
}

/** Throws bad_request. */
function conditionOf(
  { collections, database }: Parts,
  collection: Collection,
  { filter, condition, now, author = operator }: RecordChoice,
): Sql {
  if (condition !== undefined) return condition;
  if (filter === '') return sql`TRUE`;
  const context = { collections, names: database.names, input: ruleInputOfCaller(author), now };
  const scope = new RecordScope(context, { collection, alias: baseAlias });
  scope.addFilter(parseFilter(filter));
  return scope.condition ?? sql`TRUE`;
}
