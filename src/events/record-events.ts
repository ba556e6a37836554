import { limit, sql, type Sql } from '../sql/sql.ts';
import type { Reader, Tuple } from '../storage/database.ts';
import { type EventContext, readContext } from './event-context.ts';
import { recordEventKinds } from './event.ts';
import type { EventState } from './event-values.ts';

/** The events of one record in the log, by the index of records. */
export interface RecordKey {
  /** The id of its collection. */
  readonly collection: string;
  readonly record: string;
}

/** A change of a record as the log has it. */
export interface RecordEvent {
  readonly position: number;
  readonly id: string;
  readonly kind: string;
  readonly collection: string;
  readonly record: string;
  readonly revision: number;
  readonly created: string;
  /** The trace of the request that made it; empty for none. */
  readonly trace: string;
  readonly context: EventContext | undefined;
  /** When it was expunged, and empty where it was not. */
  readonly expunged: string;
  /** Undefined where it was expunged. */
  readonly state: EventState | undefined;
}

/** Selects one event of a record: by its id, by the revision after it, or the last one up to a time. */
export type EventChoice =
  | { readonly by: 'event'; readonly id: string }
  | { readonly by: 'revision'; readonly revision: number }
  | { readonly by: 'time'; readonly time: string };

/** The bodies of one page; a page has at least one event. */
const bytesMax = 8 * 1024 * 1024;

export interface HistoryPage {
  /** Only events before this position. */
  readonly before: number;
  readonly perPage: number;
}

/** Returns a page of a record's events, the newest first, and the position to continue before; undefined at the end. */
export async function readRecordEvents(
  reader: Reader,
  key: RecordKey,
  { before, perPage }: HistoryPage,
): Promise<{ readonly events: readonly RecordEvent[]; readonly next: number | undefined }> {
  const page = sql`SELECT position, length(body) ${eventsOf(reader, key)} AND position < ${before} ORDER BY position DESC${limit(perPage + 1)}`;
  const rows = await reader.search(page);
  let bytes = 0;
  const end = rows.findIndex(([, length], at) => (bytes += Number(length)) > bytesMax && at > 0);
  const positions = rows
    .slice(0, Math.min(perPage, end === -1 ? rows.length : end))
    .map(([position]) => Number(position));
  return {
    events: await readEventsAt(reader, positions),
    next: positions.length < rows.length ? positions.at(-1) : undefined,
  };
}

/** Finds the position of an event of a record; of several with the same revision, the last. */
export async function findRecordEvent(
  reader: Reader,
  key: RecordKey,
  choice: EventChoice,
): Promise<number | undefined> {
  const [row] = await reader.search(
    sql`SELECT position ${eventsOf(reader, key)} AND ${conditionOf(choice)} ORDER BY position DESC LIMIT 1`,
  );
  return row === undefined ? undefined : Number(row[0]);
}

/** Whether the log has any event of a record. */
export async function hasRecordEvents(reader: Reader, key: RecordKey): Promise<boolean> {
  return (await reader.search(sql`SELECT 1 ${eventsOf(reader, key)} LIMIT 1`)).length > 0;
}

/** Reads events at these positions, the newest first. */
export async function readEventsAt(
  reader: Reader,
  positions: readonly number[],
): Promise<readonly RecordEvent[]> {
  if (positions.length === 0) return [];
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT position, id, kind, collection, record, revision, created, trace, context, expunged, body, hidden FROM ${names.table('$event')}
    WHERE ${names.instance.condition} AND position${names.anyNumberOf(positions)} ORDER BY position DESC`);
  return rows.map(toEvent);
}

export interface RequestEvents {
  /** Ids of the collections whose records are looked for. */
  readonly collections: readonly string[];
  readonly trace: string;
  /** Only events before this position. */
  readonly before: number;
}

/** How many positions before an event belong to the same transaction at most: a delete changes a thousand records; others may write in between. */
const togetherMax = 4_000;

/** Returns the positions of updates and deletes that one request has made shortly before a position, the oldest first. */
export async function findOfRequest(
  reader: Reader,
  { collections, trace, before }: RequestEvents,
): Promise<readonly number[]> {
  const { names } = reader;
  const rows = await reader.tuples(sql`
    SELECT position FROM ${names.table('$event')}
    WHERE ${names.instance.condition} AND position < ${before} AND position >= ${before - togetherMax} AND trace = ${trace}
      AND collection${names.anyOf(collections)} AND kind${names.anyOf(['record.update', 'record.delete'])} ORDER BY position`);
  return rows.map(([position]) => Number(position));
}

function eventsOf({ names }: Reader, { collection, record }: RecordKey): Sql {
  const isInTime = names.isInTime(sql`position`, 'for some');
  const inTime = isInTime === undefined ? sql`` : sql` AND ${isInTime}`;
  return sql`FROM ${names.table('$event')} WHERE ${names.instance.condition}${inTime}
    AND record = ${record} AND collection = ${collection} AND kind${names.anyOf(recordEventKinds)}`;
}

function conditionOf(choice: EventChoice): Sql {
  if (choice.by === 'event') return sql`id = ${choice.id}`;
  return choice.by === 'revision' ? sql`revision = ${choice.revision}` : sql`created <= ${choice.time}`;
}

function toEvent(row: Tuple): RecordEvent {
  const [position, id, kind, collection, record, revision, created, trace, context, expunged, ...state] = row;
  const [body, hidden] = state;
  return {
    position: Number(position),
    id: String(id),
    kind: String(kind),
    collection: String(collection),
    record: String(record),
    revision: Number(revision),
    created: String(created),
    trace: typeof trace === 'string' ? trace : '',
    context: readContext(context),
    expunged: typeof expunged === 'string' ? expunged : '',
    state:
      typeof expunged === 'string'
        ? undefined
        : // The column is a BLOB and never null.
          { body: body as Uint8Array, hidden: typeof hidden === 'string' ? hidden : null },
  };
}
