import { newTimeOrderedId } from '../base/ids.ts';
import { fromTimestamp, toIsoTimestamp } from '../base/timestamp.ts';
import { sql } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';
import type { Event, NewEvent } from './event.ts';

/**
 * Runs inside the transaction of every event, after the event's row, whose position is then `names.lastPosition`. What it writes is committed with the record or not at
 * all; when it throws, neither record nor event is kept. It may await nothing but `tx`.
 */
export type EventListener = (tx: Transaction, event: Event) => Promise<void>;

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

  /** Writes the event, tells the listener, and returns it. The payload is put into bytes here, once and for all attempts. */
  async append(tx: Transaction, event: NewEvent): Promise<Event> {
    const id = newTimeOrderedId(fromTimestamp(event.created));
    const body = Buffer.from(this.#payload(event), 'utf8');
    const { dataJson: _, ...known } = event;
    const appended: Event = { ...known, id, body };
    await tx.inOrder([() => insertEvent(tx, appended), () => this.#options.listener(tx, appended)]);
    tx.afterCommit(this.#options.wakeUp);
    return appended;
  }

  /** Five members in this order, as spec and receivers have it. Names and ids are JSON strings by `JSON.stringify`. */
  #payload(event: NewEvent): string {
    const head = `{"event":"${event.kind}","timestamp":"${toIsoTimestamp(event.created)}","instance_id":"${this.#options.instanceId}"`;
    return `${head},"collection":${JSON.stringify(event.collectionName)},"data":${event.dataJson}}`;
  }
}

function insertEvent(tx: Transaction, event: Event): Promise<number> {
  const { id, kind, collection, collectionName, record, revision, created, body } = event;
  return tx.run(sql`
    INSERT INTO ${tx.names.table('$event')} (${tx.names.scopeColumn}id, kind, collection, collection_name, record, revision, created, body)
    VALUES (${tx.names.scopeValue}${id}, ${kind}, ${collection}, ${collectionName}, ${record}, ${revision}, ${created}, ${body})`);
}
