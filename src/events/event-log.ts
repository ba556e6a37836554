import { newTimeOrderedId } from '../base/ids.ts';
import { fromTimestamp, toIsoTimestamp } from '../base/timestamp.ts';
import { joinSql, runTogether, sql, withValues, type Sql, type SqlValue } from '../sql/sql.ts';
import type { Gathering, InsertedRows, InternalTable, Names, Transaction } from '../storage/database.ts';
import type { Event, NewEvent } from './event.ts';

/**
 * Asked inside the transaction of events for the rows that belong to them, which are inserted together with the events' own: all are
 * committed or none. When it throws, neither records nor events are kept. It may await nothing but `tx`.
 */
export type EventListener = (tx: Transaction, events: readonly Event[]) => Promise<EventRows>;

/** INSERT … SELECT from the events that were asked about, of which there are `position`, `id` and `created`. */
export type EventRows = (events: InsertedRows) => readonly Sql[];

export interface EventLogOptions {
  /** Goes into every payload as `instance_id`. */
  readonly instanceId: string;
  readonly listener: EventListener;
  /** What its rows are inserted into. */
  readonly listenerTables: readonly InternalTable[];
  /** Called after the commit of a transaction that appended. A hint: it may be lost, and nothing may depend on it. */
  readonly wakeUp: () => void;
}

/** One instance's log of what happened to its records. Append-only; a position once given never comes back. */
export class EventLog {
  readonly #options: EventLogOptions;
  readonly #gathering: Gathering<Event>;

  constructor(options: EventLogOptions) {
    this.#options = options;
    this.#gathering = {
      tables: ['$event', ...options.listenerTables],
      bytesOf: ({ bodyBytes }) => bodyBytes,
      write: (tx, events) => writeEvents(tx, events, options.listener),
    };
  }

  /** Writes the event with its listener's rows, and returns it. The payload is put together here, once and for all attempts. */
  async append(tx: Transaction, event: NewEvent): Promise<Event> {
    const id = newTimeOrderedId(fromTimestamp(event.created));
    const body = this.#payload(event);
    const bodyBytes = Buffer.byteLength(body);
    const { kind, collection, collectionName, record, revision, created } = event;
    const appended: Event = {
      id,
      kind,
      collection,
      collectionName,
      record,
      revision,
      created,
      body,
      bodyBytes,
    };
    await tx.gather(this.#gathering, appended);
    tx.afterCommit(this.#options.wakeUp);
    return appended;
  }

  /** Five members in this order, as spec and receivers have it. Names and ids are JSON strings by `JSON.stringify`. */
  #payload(event: NewEvent): string {
    const head = `{"event":"${event.kind}","timestamp":"${toIsoTimestamp(event.created)}","instance_id":"${this.#options.instanceId}"`;
    return `${head},"collection":${JSON.stringify(event.collectionName)},"data":${event.dataJson}}`;
  }
}

const togetherMax = 64;

async function writeEvents(
  tx: Transaction,
  events: readonly Event[],
  listener: EventListener,
): Promise<void> {
  const asked = partsOf(events).map(async (part) => statementsOf(tx.names, part, await listener(tx, part)));
  const statements = (await Promise.all(asked)).flat();
  await tx.inOrder(statements.map((statement) => () => tx.run(statement)));
}

/** Of 64, 32, 16 … events, so that few texts come of them, and each is prepared. */
function partsOf(events: readonly Event[]): readonly (readonly Event[])[] {
  const parts: (readonly Event[])[] = [];
  let from = 0;
  for (let size = togetherMax; size >= 1; size /= 2)
    for (; events.length - from >= size; from += size) parts.push(events.slice(from, from + size));
  return parts;
}

function statementsOf(names: Names, part: readonly Event[], rows: EventRows): readonly Sql[] {
  const insertion = { table: '$event', insert: insertOf(names, part), count: part.length, columns } as const;
  return names.insertWith(insertion, rows);
}

/** What belongs to events is made of these. */
const columns = sql`id, created`;

/** By the table and the number of rows: the names of an instance's tables are the same objects each time. */
const inserts = new WeakMap<Sql, Map<number, Sql>>();

function insertOf(names: Names, part: readonly Event[]): Sql {
  const table = names.table('$event');
  const known = inserts.get(table) ?? new Map<number, Sql>();
  inserts.set(table, known);
  const isText = names.engine === 'sqlite';
  let insert = known.get(part.length);
  if (insert === undefined) {
    const nothing = sql`${null}, ${null}, ${null}, ${null}, ${null}, ${null}, ${null}`;
    const body = isText ? sql`CAST(${null} AS BLOB)` : sql`${null}`;
    const rows = part.map(() => sql`(${names.scopeValue}${nothing}, ${body})`);
    insert = sql`
      INSERT INTO ${table} (${names.scopeColumn}id, kind, collection, collection_name, record, revision, created, body)
      VALUES ${joinSql(rows, ', ')}`;
    if (part.length === 1) insert = runTogether(insert, 'insert');
    known.set(part.length, insert);
  }
  const values: SqlValue[] = [];
  for (const { id, kind, collection, collectionName, record, revision, created, body } of part) {
    values.push(...names.scopeValue.values, id, kind, collection, collectionName, record, revision, created);
    values.push(isText ? body : Buffer.from(body, 'utf8'));
  }
  return withValues(insert, values);
}
