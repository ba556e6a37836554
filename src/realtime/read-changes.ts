import { foundByKeys, limit, sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';
import type { EventState } from '../events/event-values.ts';

/** A change of a record, as the event log has it. */
export interface Change extends EventState {
  readonly position: number;
  readonly action: 'create' | 'update' | 'delete';
  /** The id of the collection. */
  readonly collection: string;
  /** Its name at the time. */
  readonly collectionName: string;
  /** The id of the record. */
  readonly record: string;
  readonly revision: number;
}

/** Events of one read, and the bytes of their payloads; at least one is read. */
const readMax = 64;
const bytesMax = 4 * 1024 * 1024;

export interface ChangesRange {
  /** The changes behind this position … */
  readonly from: number;
  /** … and up to this one. */
  readonly upTo: number;
}

export interface Changes {
  readonly changes: readonly Change[];
  /** The last position that was read; that before the range when there is none. */
  readonly last: number;
  /** Whether the range has no more changes. */
  readonly isWhole: boolean;
}

/** Reads the next changes of a part of the log, in its order. */
export async function readChanges(reader: Reader, { from, upTo }: ChangesRange): Promise<Changes> {
  const { names } = reader;
  const range = sql`${names.instance.condition} AND position > ${from} AND position <= ${upTo}`;
  const event = names.table('$event');
  const rows = await reader.tuples(
    foundByKeys(sql`
      WITH next AS MATERIALIZED (
        SELECT position, length(body) AS bytes FROM ${event} WHERE ${range} ORDER BY position${limit(readMax)}),
      summed AS (SELECT position, sum(bytes) OVER (ORDER BY position) - bytes AS before FROM next)
      SELECT position, kind, collection, record, revision, hidden, body, collection_name, (SELECT count(*) FROM next), expunged FROM ${event}
      WHERE ${range} AND position IN (SELECT position FROM summed WHERE before < CAST(${bytesMax} AS bigint)) ORDER BY position`),
  );
  const changes = rows.flatMap(
    ([position, kind, collection, record, revision, hidden, body, name, , expunged]): Change[] => {
      const action = actions.get(String(kind));
      // Without its body, a change cannot be checked against rules.
      if (action === undefined || expunged !== null) return [];
      return [
        {
          position: Number(position),
          action,
          collection: String(collection),
          collectionName: String(name),
          record: String(record),
          revision: Number(revision),
          hidden: typeof hidden === 'string' ? hidden : null,
          // The column is a BLOB and never null.
          body: body as Uint8Array,
        },
      ];
    },
  );
  const last = rows.at(-1);
  const count = Number(last?.[8] ?? 0);
  return { changes, last: Number(last?.[0] ?? from), isWhole: count === rows.length && count < readMax };
}

const actions: ReadonlyMap<string, Change['action']> = new Map([
  ['record.create', 'create'],
  ['record.update', 'update'],
  ['record.delete', 'delete'],
]);

/** Returns the state of a record before an update of it; undefined where the log does not have it any more. */
export async function readStateBefore(
  reader: Reader,
  { position, collection, record, revision }: Change,
): Promise<(EventState & { readonly revision: number }) | undefined> {
  const { names } = reader;
  const [row] = await reader.tuples(
    foundByKeys(sql`
      SELECT hidden, body FROM ${names.table('$event')}
      WHERE ${names.instance.condition} AND record = ${record} AND position < ${position} AND collection = ${collection}
        AND revision = ${revision - 1} AND kind${names.anyOf(['record.create', 'record.update'])} AND expunged IS NULL
      ORDER BY position DESC LIMIT 1`),
  );
  if (row === undefined) return undefined;
  const [hidden, body] = row;
  return {
    revision: revision - 1,
    hidden: typeof hidden === 'string' ? hidden : null,
    // The column is a BLOB and never null.
    body: body as Uint8Array,
  };
}

/** Returns the last position of the log. */
export async function lastPosition(reader: Reader): Promise<number> {
  const { names } = reader;
  const [row] = await reader.tuples(
    foundByKeys(
      sql`SELECT position FROM ${names.table('$event')} WHERE ${names.instance.condition} ORDER BY position DESC LIMIT 1`,
    ),
  );
  return row === undefined ? 0 : Number(row[0]);
}
