import { newTimeOrderedId } from '../base/ids.ts';
import { fromTimestamp, toIsoTimestamp } from '../base/timestamp.ts';
import { runTogether, sql, type Sql } from '../sql/sql.ts';
import type { Names, Transaction } from '../storage/database.ts';
import type { Event, NewEvent } from './event.ts';

/**
 * Asked inside the transaction of every event for the rows that belong to it, which are inserted together with the event's own:
 * all are committed or none. When it throws, neither record nor event is kept. It may await nothing but `tx`.
 */
export type EventListener = (tx: Transaction, event: Event) => Promise<EventRows>;

/** Statements that insert, given the event's position. */
export type EventRows = (position: Sql) => readonly Sql[];

export interface EventLogOptions {
  /** Goes into every payload as `instance_id`. */
  readonly instanceId: string;
  readonly listener: EventListener;
  /** Called after the commit of a transaction that appended. A hint: it may be lost, and nothing may depend on it. */
  readonly wakeUp: () => void;
}

/** One instance's log of what happened to its records. Append-only; a position once given never comes back. */
export class EventLog {
  readonly #options: EventLogOptions;

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  /** Writes the event with its listener's rows, and returns it. The payload is put into bytes here, once and for all attempts. */
  async append(tx: Transaction, event: NewEvent): Promise<Event> {
    const id = newTimeOrderedId(fromTimestamp(event.created));
    const body = Buffer.from(this.#payload(event), 'utf8');
    const { dataJson: _, ...known } = event;
    const appended: Event = { ...known, id, body };
    const rows = await this.#options.listener(tx, appended);
    await tx.insertWith(eventRow(tx.names, appended), rows);
    tx.afterCommit(this.#options.wakeUp);
    return appended;
  }

  /** Five members in this order, as spec and receivers have it. Names and ids are JSON strings by `JSON.stringify`. */
  #payload(event: NewEvent): string {
    const head = `{"event":"${event.kind}","timestamp":"${toIsoTimestamp(event.created)}","instance_id":"${this.#options.instanceId}"`;
    return `${head},"collection":${JSON.stringify(event.collectionName)},"data":${event.dataJson}}`;
  }
}

function eventRow(names: Names, event: Event): Sql {
  const { id, kind, collection, collectionName, record, revision, created, body } = event;
  const insert = sql`
    INSERT INTO ${names.table('$event')} (${names.scopeColumn}id, kind, collection, collection_name, record, revision, created, body)
    VALUES (${names.scopeValue}${id}, ${kind}, ${collection}, ${collectionName}, ${record}, ${revision}, ${created}, ${body})`;
  return runTogether(insert, 'insert');
}
