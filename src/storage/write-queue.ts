import { AssertionFailed, assert } from '../base/assert.ts';
import { AppError } from '../base/errors.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { Row, Transaction, Tuple, WriteOptions } from './database.ts';
import { EngineFailure, toEngineError } from './engine-errors.ts';
import type { SqliteConnection } from './sqlite-connection.ts';

/**
 * Group commit. Works that were asked for in one turn of the event loop share one transaction, a savepoint each, and are
 * answered after the one synced COMMIT:
 *
 *   BEGIN IMMEDIATE · (SAVEPOINT · work · RELEASE | ROLLBACK TO)* · COMMIT · answers
 *
 * While a commit is being synced this thread stands still, so whatever arrives meanwhile forms the next group: the slower
 * the disk, the larger the groups. A group's members wait for nothing but each other.
 */

/** A group larger than this would make its first member wait for too many others. */
const groupMax = 512;

/** More waiting works than this are refused at once instead of being kept waiting. */
const waitingMax = 10_000;

const BEGIN = sql`BEGIN IMMEDIATE`;
const COMMIT = sql`COMMIT`;
const ROLLBACK = sql`ROLLBACK`;
const SAVEPOINT = sql`SAVEPOINT work`;
const RELEASE = sql`RELEASE work`;
const ROLLBACK_TO = sql`ROLLBACK TO work`;

export interface WriteQueueOptions {
  readonly open: () => SqliteConnection;
  /** Called when a failed medium made the writer open its file again; readers must do the same. */
  readonly onReopen: () => void;
}

interface Waiting {
  readonly work: (tx: Transaction) => Promise<unknown>;
  readonly isExclusive: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome =
  | { readonly kind: 'kept'; readonly value: unknown; readonly callbacks: readonly (() => void)[] }
  | { readonly kind: 'rolled_back'; readonly error: unknown };

export class WriteQueue {
  readonly #options: WriteQueueOptions;
  #connection: SqliteConnection;
  #waiting: Waiting[] = [];
  #isBroken = false;
  #isClosed = false;
  #running: Promise<void> | undefined;
  #onForeignAwait: ((error: Error) => void) | undefined;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
    this.#connection = options.open();
  }

  add<Result>(work: (tx: Transaction) => Promise<Result>, options: WriteOptions): Promise<Result> {
    if (this.#isClosed)
      return Promise.reject(new AppError('unavailable', 'The service is stopping.', { retryAfter: 1 }));
    if (this.#waiting.length >= waitingMax) {
      return Promise.reject(
        new AppError('unavailable', 'The service is busy, try again.', { retryAfter: 1 }),
      );
    }
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({
        work,
        isExclusive: options.isExclusive ?? false,
        // The queue hands back to `resolve` only what `work` of the same entry returned.
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      this.#running ??= this.#nextTurn();
    });
  }

  /** Resolves when nothing waits and nothing runs. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  close(): void {
    assert(this.#running === undefined, 'a queue is closed after it was drained');
    this.#isClosed = true;
    this.#connection.close();
  }

  #nextTurn(): Promise<void> {
    return new Promise((done) => {
      setImmediate(() => {
        void this.#runGroup().finally(() => {
          this.#running = this.#waiting.length > 0 ? this.#nextTurn() : undefined;
          done();
        });
      });
    });
  }

  async #runGroup(): Promise<void> {
    const group = this.#takeGroup();
    try {
      this.#reopenIfBroken();
      this.#connection.run(BEGIN);
    } catch (error) {
      this.#abandon(error);
      rejectAll(group, error);
      return;
    }
    const outcomes: Outcome[] = [];
    const watch = this.#watchForeignAwaits();
    try {
      for (const waiting of group) outcomes.push(await this.#runWork(waiting));
      this.#connection.run(COMMIT);
    } catch (error) {
      this.#abandon(error);
      rejectAll(group, error);
      return;
    } finally {
      watch.stop();
    }
    settle(group, outcomes);
  }

  #takeGroup(): Waiting[] {
    const exclusiveAt = this.#waiting.findIndex((waiting) => waiting.isExclusive);
    const shared = exclusiveAt === -1 ? this.#waiting.length : exclusiveAt;
    return this.#waiting.splice(0, Math.min(groupMax, Math.max(1, shared)));
  }

  /** Runs one work in its savepoint. Throws only when the whole group is lost. */
  async #runWork(waiting: Waiting): Promise<Outcome> {
    const connection = this.#connection;
    connection.run(SAVEPOINT);
    const tx = new SqliteTransaction(connection);
    try {
      const value = await new Promise((resolve, reject) => {
        this.#onForeignAwait = reject;
        waiting.work(tx).then(resolve, reject);
      });
      connection.run(RELEASE);
      return { kind: 'kept', value, callbacks: tx.callbacks };
    } catch (thrown) {
      const error = toEngineError(thrown);
      // A full disk or a failed write may have ended the transaction for everybody in it.
      if (error instanceof EngineFailure || !connection.isInTransaction) throw error;
      connection.run(ROLLBACK_TO);
      connection.run(RELEASE);
      return { kind: 'rolled_back', error };
    } finally {
      tx.end();
    }
  }

  /**
   * Everything a work may await is answered in microtasks, so a group is over before the loop turns. When a turn comes all
   * the same, the running work has awaited something else, and its neighbours must not wait for it with the file locked.
   */
  #watchForeignAwaits(): { stop(): void } {
    let immediate = setImmediate(onTurn);
    const fail = (): void => {
      this.#onForeignAwait?.(new AssertionFailed('a transaction awaited something else than its tx'));
    };
    function onTurn(): void {
      fail();
      immediate = setImmediate(onTurn);
    }
    return { stop: () => clearImmediate(immediate) };
  }

  /** After a failed COMMIT or a lost transaction: nothing is retried, and a medium that failed is opened anew. */
  #abandon(error: unknown): void {
    if (error instanceof EngineFailure) this.#isBroken = true;
    try {
      if (this.#connection.isInTransaction) this.#connection.run(ROLLBACK);
    } catch {
      this.#isBroken = true;
    }
  }

  #reopenIfBroken(): void {
    if (!this.#isBroken) return;
    try {
      this.#connection.close();
    } catch {
      // Closing what is broken may fail, or was done by an earlier try; a new connection is needed all the same.
    }
    this.#connection = this.#options.open();
    this.#options.onReopen();
    this.#isBroken = false;
  }
}

class SqliteTransaction implements Transaction {
  readonly isTransaction = true;
  readonly callbacks: (() => void)[] = [];
  #connection: SqliteConnection | undefined;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  async all(statement: Sql): Promise<Row[]> {
    return this.#live().all(statement);
  }

  async get(statement: Sql): Promise<Row | undefined> {
    return this.#live().get(statement);
  }

  async tuples(statement: Sql): Promise<Tuple[]> {
    return this.#live().tuples(statement);
  }

  async run(statement: Sql): Promise<number> {
    return this.#live().run(statement);
  }

  afterCommit(callback: () => void): void {
    this.callbacks.push(callback);
  }

  end(): void {
    this.#connection = undefined;
  }

  #live(): SqliteConnection {
    assert(this.#connection, 'a transaction was used after it had ended');
    return this.#connection;
  }
}

function settle(group: readonly Waiting[], outcomes: readonly Outcome[]): void {
  for (const outcome of outcomes)
    if (outcome.kind === 'kept') for (const callback of outcome.callbacks) callback();
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.kind === 'kept') group[index]?.resolve(outcome.value);
    else group[index]?.reject(outcome.error);
  }
}

function rejectAll(group: readonly Waiting[], error: unknown): void {
  for (const waiting of group) waiting.reject(error);
}
