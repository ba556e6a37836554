import { newTimeOrderedId } from '../base/ids.ts';
import { fromTimestamp } from '../base/timestamp.ts';
import { type Trace, traceText } from '../base/trace-context.ts';
import { insertInto, sql, type Sql, withValues } from '../sql/sql.ts';
import type { DependentRows, BulkInsert, Names, Transaction } from '../storage/database.ts';
import type { InternalTable } from '../storage/internal-table.ts';
import { type Event, type NewEvent, payloadOf, type RecordChange } from './event.ts';

/**
 * Returns the rows that follow from events, made of their `position`. They are inserted together with the events, in
 * the same transaction: all are committed or none. If the listener throws, neither records nor events are kept. It may await nothing
 * but `tx`.
 */
export type EventListener = (tx: Transaction, events: readonly Event[]) => Promise<DependentRows>;

export interface EventLogOptions {
  /** Goes into every payload as `instance_id`. */
  readonly instanceId: string;
  readonly listener: EventListener;
  /** The tables that the listener's rows are inserted into. */
  readonly listenerTables: readonly InternalTable[];
  /**
   * Returns the events that a change of a record causes, with their recipients, in their order; none where it does not belong in the
   * log. It may await nothing but `tx`.
   */
  readonly address?: (tx: Transaction, event: NewEvent, change: RecordChange) => Promise<readonly NewEvent[]>;
  /** Called after the commit of a transaction for each event that it appended, with its bytes. It is a hint that may be lost: nothing may depend on it. */
  readonly wakeUp: (bytes: number) => void;
}

export interface NotedChange {
  readonly change: RecordChange;
  readonly trace?: (() => Trace) | undefined;
}

/** One instance's log of changes of its records. Append-only; a position is never reused. */
export class EventLog {
  readonly #options: EventLogOptions;
  readonly #bulkInsert: BulkInsert<Event>;
  readonly #appended = new Signal();

  constructor(options: EventLogOptions) {
    this.#options = options;
    this.#bulkInsert = {
      tables: ['$event', ...options.listenerTables],
      bytesOf: ({ bodyBytes, hiddenJson = '' }) => bodyBytes + hiddenJson.length,
      write: (tx, events) => writeEvents(tx, events, options.listener),
    };
  }

  /** Writes the events of a change of a record, unless the instance keeps none of its kind. */
  async note(tx: Transaction, event: NewEvent, { change, trace }: NotedChange): Promise<void> {
    const { address } = this.#options;
    const events = address === undefined ? [event] : await address(tx, event, change);
    for (const one of events) await this.append(tx, one, trace?.());
  }

  /** Writes an event with the listener's rows, and returns it. The payload is built here, once for all attempts. */
  async append(tx: Transaction, event: NewEvent, trace?: Trace): Promise<Event> {
    const id = newTimeOrderedId(fromTimestamp(event.created));
    const body = payloadOf(event, this.#options.instanceId);
    // The text of its data is in the body.
    const { dataJson: _, ...about } = event;
    const traced = trace === undefined ? undefined : { trace: traceText(trace) };
    const appended: Event = { id, ...about, ...traced, body, bodyBytes: Buffer.byteLength(body) };
    await tx.insertLater(this.#bulkInsert, appended);
    const bytes = appended.bodyBytes + Buffer.byteLength(event.hiddenJson ?? '');
    tx.afterCommit(() => this.#announce(bytes));
    return appended;
  }

  /** Resolves when this process has committed an event, or after `delayMs`. */
  next(delayMs: number): Promise<void> {
    return this.#appended.wait(delayMs);
  }

  /** Wakes waiting readers after another process has announced an event. */
  wake(): void {
    this.#appended.notify();
  }

  #announce(bytes: number): void {
    this.#options.wakeUp(bytes);
    this.#appended.notify();
  }
}

async function writeEvents(
  tx: Transaction,
  events: readonly Event[],
  listener: EventListener,
): Promise<void> {
  const { names } = tx;
  const following = await listener(tx, events);
  const inserts = events.map((event) => insertOf(names, event));
  const statements = names.insertWithDependents({ from: names.table('$event'), inserts }, following);
  await tx.inOrder(statements.map((statement) => () => tx.run(statement)));
}

/** The INSERT for each instance, by its names. */
const insertOfNames = new WeakMap<Names, Sql>();

function insertOf(names: Names, event: Event): Sql {
  let insert = insertOfNames.get(names);
  if (insert === undefined) insertOfNames.set(names, (insert = makeInsert(names)));
  const { id, kind, collection, collectionName, record, revision, created, hiddenJson = null } = event;
  const { trace = null, context, body } = event;
  const scope = names.instance.value.values;
  return withValues(insert, [
    ...scope,
    id,
    kind,
    collection,
    collectionName,
    record,
    revision,
    created,
    hiddenJson,
    trace,
    context === undefined ? null : JSON.stringify(context),
    body,
  ]);
}

function makeInsert(names: Names): Sql {
  const values = sql`${null}, ${null}, ${null}, ${null}, ${null}, ${null}, ${null}, ${null}, ${null}, ${null}`;
  const columns = sql`${names.instance.column}id, kind, collection, collection_name, record, revision, created, hidden, trace, context, body`;
  return insertInto(
    names.table('$event'),
    columns,
    sql`${names.instance.value}${values}, ${names.dialect.utf8}`,
  );
}

/**
 * Tells a listener in this process that an instance has new events, so that deliveries start at once instead of at the next poll. A
 * wake-up may be lost with the process: the listener also polls.
 */
export class WakeUp {
  #listener: ((instanceId: string, what: 'log' | 'all') => void) | undefined;
  /** How many events this process has committed, in all and of each instance with their bytes. */
  events = 0;
  readonly eventsOf = new Map<string, { events: number; bytes: number }>();

  /** `listener` learns whether events were committed, or something related to them may have changed. */
  onWakeUp(listener: (instanceId: string, what: 'log' | 'all') => void): void {
    this.#listener = listener;
  }

  /** Called for each event that was committed. */
  noteEvent(instanceId: string, bytes: number): void {
    this.events += 1;
    const counts = this.eventsOf.get(instanceId) ?? { events: 0, bytes: 0 };
    counts.events += 1;
    counts.bytes += bytes;
    this.eventsOf.set(instanceId, counts);
    this.#listener?.(instanceId, 'log');
  }

  notify(instanceId: string): void {
    this.#listener?.(instanceId, 'all');
  }
}

/** Wakes its waiters. A wait ignores earlier signals. */
export class Signal {
  readonly #waiting = new Set<() => void>();

  /** Resolves at the next {@link notify}, or after `delayMs`. */
  wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, delayMs);
      this.#waiting.add(end);
    });
  }

  notify(): void {
    for (const end of this.#waiting) end();
  }
}
