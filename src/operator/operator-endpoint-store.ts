import type { Clock } from '../base/clock.ts';
import { notFound } from '../base/errors.ts';
import { newId } from '../base/ids.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { type AttemptContext, afterAttempt, standardSchedule } from '../deliveries/delivery.ts';
import type { Sealer, SealPlace } from '../secrets/seal.ts';
import type { AttemptResult } from '../sending/attempt-result.ts';
import { joinSql, limit, sql, type Sql } from '../sql/sql.ts';
import type { Database, Reader, Row, Transaction } from '../storage/database.ts';
import { type FeedBounds, lostAfter, type OperatorEndpoint } from './operator-endpoint.ts';
import { type OperatorEventView, toEventView } from './operator-feed.ts';

/** How long an endpoint is held without a write of its holder: longer than an attempt takes. */
const leaseMs = 30_000;

/** What comes next for an endpoint, of one moment. */
export interface NextEvent extends FeedBounds {
  /** The next event that it subscribes to, with its position; undefined where there is none yet. */
  readonly event: (OperatorEventView & { readonly position: number }) | undefined;
  /** How many events before that one, or before the end, were deleted without being sent. */
  readonly lost: number;
}

/**
 * The endpoints of the operator, as rows of the shared data. Only this file writes the table. A process that sends to an endpoint holds it by a
 * lease; each write of a holder names the position that it knows, so that of two that believe to hold it only one moves it.
 */
export class OperatorEndpointStore {
  /** The name of this process in leases. */
  readonly #holder = newId();
  readonly #database: Database;
  readonly #sealer: Sealer;
  readonly #clock: Pick<Clock, 'now'>;

  /** `clock` is the one for times that nodes compare. */
  constructor(database: Database, sealer: Sealer, clock: Pick<Clock, 'now'>) {
    this.#database = database;
    this.#sealer = sealer;
    this.#clock = clock;
  }

  /** Returns all endpoints, in the order in which they were made. */
  async all(reader: Reader = this.#database): Promise<readonly OperatorEndpoint[]> {
    const rows = await reader.all(
      sql`SELECT * FROM ${reader.names.table('$operator_endpoint')} ORDER BY created, id`,
    );
    return rows.map((row) => this.#fromRow(row));
  }

  /** Throws not_found. */
  async get(id: string): Promise<OperatorEndpoint> {
    return requireFound(await this.#find(this.#database, id));
  }

  /** Throws not_found. */
  async getForUpdate(tx: Transaction, id: string): Promise<OperatorEndpoint> {
    return requireFound(await this.#find(tx, id, tx.names.locks.forUpdate));
  }

  async #find(reader: Reader, id: string, lock = sql``): Promise<OperatorEndpoint | undefined> {
    const row = await reader.get(
      sql`SELECT * FROM ${reader.names.table('$operator_endpoint')} WHERE id = ${id}${lock}`,
    );
    return row && this.#fromRow(row);
  }

  async bounds(reader: Reader = this.#database): Promise<FeedBounds> {
    const events = reader.names.table('$operator_event');
    const [row] = await reader.tuples(sql`SELECT ${boundsOf(events)}`);
    return { oldest: Number(row?.[0] ?? 0), newest: Number(row?.[1] ?? 0) };
  }

  async insert(tx: Transaction, endpoint: OperatorEndpoint): Promise<void> {
    const { id, url, description, events, status, after, created } = endpoint;
    const [secret, previous, until] = this.#sealed(endpoint);
    await tx.run(sql`
      INSERT INTO ${tx.names.table('$operator_endpoint')} (id, url, description, events, status, secret, previous_secret,
        previous_secret_until, after_event, skipped, attempts, due, last_error, failing_since, holder, held_until, created, updated)
      VALUES (${id}, ${url}, ${description}, ${JSON.stringify(events)}, ${status}, ${secret}, ${previous}, ${until},
        ${after}, 0, 0, 0, '', '', '', 0, ${created}, ${created})`);
  }

  /** Stores what people decide of an endpoint, and when its next attempt is due. */
  async update(tx: Transaction, endpoint: OperatorEndpoint): Promise<void> {
    const { id, url, description, events, status, attempts, due, failingSince, updated } = endpoint;
    const [secret, previous, until] = this.#sealed(endpoint);
    await tx.run(sql`
      UPDATE ${tx.names.table('$operator_endpoint')} SET url = ${url}, description = ${description},
        events = ${JSON.stringify(events)}, status = ${status}, secret = ${secret}, previous_secret = ${previous},
        previous_secret_until = ${until}, attempts = ${attempts}, due = ${due}, failing_since = ${failingSince}, updated = ${updated}
      WHERE id = ${id}`);
  }

  async delete(tx: Transaction, id: string): Promise<void> {
    await tx.run(sql`DELETE FROM ${tx.names.table('$operator_endpoint')} WHERE id = ${id}`);
  }

  /** Makes the next attempt of an endpoint due. */
  async makeDue(id: string): Promise<void> {
    await this.#database.write((tx) =>
      tx.run(sql`UPDATE ${tx.names.table('$operator_endpoint')} SET due = 0 WHERE id = ${id}`),
    );
  }

  /** Returns the ids of endpoints that events wait for, whose attempts are due, and that nobody else holds. */
  async readDue(): Promise<readonly string[]> {
    const { names } = this.#database;
    const rows = await this.#database.tuples(sql`
      SELECT id FROM ${names.table('$operator_endpoint')} WHERE ${this.#isDue()}
        AND after_event < (SELECT max(position) FROM ${names.table('$operator_event')})`);
    return rows.map(([id]) => String(id));
  }

  #isDue(): Sql {
    const now = this.#clock.now();
    // A data directory has one server. What one before it held would wait for nothing.
    const isFree = this.#database.names.isConcurrent
      ? sql`(holder = ${this.#holder} OR held_until <= ${now})`
      : sql`TRUE`;
    return sql`status = 'active' AND due <= ${now} AND ${isFree}`;
  }

  /** Takes an endpoint; undefined where another process has taken it, or it is not due any more. */
  claim(id: string): Promise<OperatorEndpoint | undefined> {
    return this.#database.write(async (tx) => {
      const claimed = await tx.run(sql`
        UPDATE ${tx.names.table('$operator_endpoint')} SET ${this.#holds()}
        WHERE id = ${id} AND ${this.#isDue()}`);
      return claimed === 0 ? undefined : this.#find(tx, id);
    });
  }

  #holds(): Sql {
    return sql`holder = ${this.#holder}, held_until = ${this.#clock.now() + leaseMs}`;
  }

  async readNext({ after, events }: OperatorEndpoint): Promise<NextEvent> {
    const table = this.#database.names.table('$operator_event');
    // One statement: events that are deleted between two reads would be neither sent nor counted.
    const [row = []] = await this.#database.tuples(sql`
      SELECT ${boundsOf(table)}, e.position, e.id, e.kind, e.instance, e.created, e.data
      FROM (SELECT 1 AS one) AS one LEFT JOIN (
        SELECT position, id, kind, instance, created, data FROM ${table}
        WHERE position > ${after} AND ${isSelected(events)} ORDER BY position${limit(1)}) AS e ON TRUE`);
    const [oldest, newest, position, ...columns] = row;
    const event =
      position === null || position === undefined
        ? undefined
        : { position: Number(position), ...toEventView(columns) };
    return {
      oldest: Number(oldest ?? 0),
      newest: Number(newest ?? 0),
      event,
      lost: lostAfter(after, Number(oldest ?? 0)),
    };
  }

  /** Counts events that were deleted before they were sent, and moves on behind them. Returns the endpoint if it is still held. */
  skip(endpoint: OperatorEndpoint, lost: number): Promise<OperatorEndpoint | undefined> {
    const change = sql`after_event = after_event + ${lost}, skipped = skipped + ${lost}, attempts = 0, ${this.#holds()}`;
    return this.#change(endpoint, change);
  }

  /** Moves an endpoint on behind events that it does not subscribe to, unless that was changed meanwhile, and releases it. */
  async passOver(endpoint: OperatorEndpoint, newest: number): Promise<void> {
    const isSame = sql`events = ${JSON.stringify(endpoint.events)}`;
    const moved = await this.#change(endpoint, sql`after_event = ${newest}, ${released}`, isSame);
    if (moved === undefined) await this.release(endpoint);
  }

  async release(endpoint: OperatorEndpoint): Promise<void> {
    await this.#change(endpoint, released);
  }

  /** Notes that the event at a position was accepted. Returns the endpoint if it is still held. */
  settle(
    endpoint: OperatorEndpoint,
    { position, status }: AcceptedEvent,
  ): Promise<OperatorEndpoint | undefined> {
    return this.#change(
      endpoint,
      sql`after_event = ${position}, attempts = 0, due = 0, last_status = ${status}, last_error = '', failing_since = '', ${this.#holds()}`,
    );
  }

  /**
   * Notes a failed attempt, and releases the endpoint until the next one. An endpoint never gives up: after the schedule, attempts go on at
   * its longest interval. A failure of another URL than the present one says nothing; nor does an aborted attempt.
   */
  async postpone(endpoint: OperatorEndpoint, failure: FailedEvent): Promise<void> {
    const { result, now, ...context } = failure;
    if (result.kind === 'aborted') return this.release(endpoint);
    const schedule = standardSchedule;
    const attempts = Math.min(endpoint.attempts, schedule.length - 1);
    const state = { status: 'pending', attempts, due: endpoint.due, cause: '' } as const;
    const { due = 0, cause } = afterAttempt(state, result, { ...context, now: this.#clock.now(), schedule });
    const change = sql`attempts = ${endpoint.attempts + 1}, due = ${due}, last_status = ${result.status}, last_error = ${cause},
      failing_since = CASE WHEN failing_since = '' THEN ${toTimestamp(now)} ELSE failing_since END, ${released}`;
    const noted = await this.#change(endpoint, change, sql`url = ${endpoint.url}`);
    if (noted === undefined) await this.release(endpoint);
  }

  /** Changes an endpoint that is held and still at its position. Returns it as it is then. */
  #change(
    { id, after }: OperatorEndpoint,
    change: Sql,
    condition = sql`TRUE`,
  ): Promise<OperatorEndpoint | undefined> {
    return this.#database.write(async (tx) => {
      const changed = await tx.run(sql`
        UPDATE ${tx.names.table('$operator_endpoint')} SET ${change}
        WHERE id = ${id} AND holder = ${this.#holder} AND after_event = ${after} AND ${condition}`);
      return changed === 0 ? undefined : this.#find(tx, id);
    });
  }

  #sealed(endpoint: OperatorEndpoint): readonly [secret: string, previous: string, until: string] {
    const { id, secret, previousSecret, previousSecretUntil } = endpoint;
    const previous = previousSecret === '' ? '' : this.#sealer.seal(previousSecret, previousPlace(id));
    return [this.#sealer.seal(secret, secretPlace(id)), previous, previousSecretUntil];
  }

  #fromRow(row: Row): OperatorEndpoint {
    const text = (name: string): string => String(row[name]);
    const id = text('id');
    const previous = text('previous_secret');
    return {
      id,
      url: text('url'),
      description: text('description'),
      // Only this file writes it.
      events: JSON.parse(text('events')) as readonly string[],
      status: row['status'] === 'paused' ? 'paused' : 'active',
      secret: this.#sealer.open(text('secret'), secretPlace(id)),
      previousSecret: previous === '' ? '' : this.#sealer.open(previous, previousPlace(id)),
      previousSecretUntil: text('previous_secret_until'),
      after: Number(row['after_event']),
      skipped: Number(row['skipped']),
      attempts: Number(row['attempts']),
      due: Number(row['due']),
      lastStatus: typeof row['last_status'] === 'number' ? row['last_status'] : null,
      lastError: text('last_error'),
      failingSince: text('failing_since'),
      created: text('created'),
      updated: text('updated'),
    };
  }
}

function requireFound(endpoint: OperatorEndpoint | undefined): OperatorEndpoint {
  if (endpoint === undefined) throw notFound();
  return endpoint;
}

interface AcceptedEvent {
  readonly position: number;
  readonly status: number | null;
}

interface FailedEvent extends Pick<AttemptContext, 'now' | 'random'> {
  readonly result: AttemptResult;
}

const released = sql`holder = '', held_until = 0`;

/** Each by its own search: together they would read the whole table. */
function boundsOf(events: Sql): Sql {
  return sql`(SELECT min(position) FROM ${events}) AS oldest, (SELECT max(position) FROM ${events}) AS newest`;
}

function isSelected(selections: readonly string[]): Sql {
  if (selections.includes('*')) return sql`TRUE`;
  const conditions = selections.map((one) =>
    one.endsWith('.*') ? sql`kind LIKE ${`${one.slice(0, -1)}%`}` : sql`kind = ${one}`,
  );
  return sql`(${joinSql(conditions, ' OR ')})`;
}

function secretPlace(id: string): SealPlace {
  return { purpose: 'operator-endpoint-secret', id };
}

function previousPlace(id: string): SealPlace {
  return { purpose: 'operator-endpoint-previous-secret', id };
}
