import { AssertionFailed, assert } from '../../base/assert.ts';
import type { Sql } from '../../sql/sql.ts';
import { CopyQuery } from './copy-query.ts';
import type { Gathering, Names, PlainTuple, Row, Transaction, Tuple } from '../database.ts';
import { limitStatements, type StatementTimes } from './postgres-begin.ts';
import type { Answer, PostgresConnection } from './postgres-connection.ts';
import { hasNoJoinOrder, isCollision, isStaleStatement } from './postgres-errors.ts';

export interface PostgresTransactionOptions {
  readonly names: Names;
  /** Sets a savepoint before each statement, so that a work may go on after a statement that was refused. */
  readonly isGuarded: boolean;
  /** Undefined where searches have the time of all statements. */
  readonly times: StatementTimes | undefined;
  /** Sends what opens the transaction; called with the first statement, and in one packet with it. */
  readonly open: () => void;
}

/**
 * The `tx` of a work that has a transaction of its own. Statements run in the order in which they were asked for, awaited or not;
 * those that are asked for without an await between them share a round trip.
 *
 * In PostgreSQL a refused statement fails the whole transaction, but a work may catch the error and go on. Such a work is run again
 * from the start with savepoints, which few works ever need.
 */
export class PostgresTransaction implements Transaction {
  readonly isTransaction = true;
  readonly names: Names;
  readonly callbacks: (() => void)[] = [];
  readonly #connection: PostgresConnection;
  readonly #options: PostgresTransactionOptions;
  #hasBegun = false;
  #hasEnded = false;
  #isWorking = false;
  #pending = 0;
  #isWatched = false;
  #last: Promise<unknown> = Promise.resolve();
  #onForeignAwait: ((error: Error) => void) | undefined;
  #onIdle: (() => void) | undefined;
  #failure: Error | undefined;
  #hasGoneOn = false;
  #collision: unknown;

  constructor(connection: PostgresConnection, options: PostgresTransactionOptions) {
    this.names = options.names;
    this.#connection = connection;
    this.#options = options;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** True when the work has swallowed an error that failed its transaction: it is done, or has asked for another statement. */
  hasSwallowed(isDone: boolean): boolean {
    return this.#failure !== undefined && (isDone || this.#hasGoneOn);
  }

  /** An error after which only running the work again from the start can help. */
  get collision(): unknown {
    return this.#collision;
  }

  /** Runs the work; settles when it is over and all its statements are answered. */
  async settle<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    try {
      return await new Promise<Result>((resolve, reject) => {
        this.#onForeignAwait = reject;
        this.#isWorking = true;
        work(this).then(resolve, reject);
        this.#watch();
      });
    } finally {
      this.#isWorking = false;
      this.#hasEnded = true;
      if (this.#pending > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
    }
  }

  async all(statement: Sql): Promise<Row[]> {
    return [...(await this.#ask(() => this.#connection.rows(statement))).rows];
  }

  async search(statement: Sql): Promise<Tuple[]> {
    const { times } = this.#options;
    if (times === undefined) return await this.tuples(statement);
    const ask = (): Promise<Answer<Tuple>> => this.#connection.tuples(statement);
    const [before, after] = [limitStatements(times.searchMs), limitStatements(times.otherMs)];
    return [...(await this.#ask(() => this.#connection.between(before, ask, after))).rows];
  }

  async get(statement: Sql): Promise<Row | undefined> {
    return (await this.#ask(() => this.#connection.rows(statement))).rows[0];
  }

  async tuples(statement: Sql): Promise<Tuple[]> {
    return [...(await this.#ask(() => this.#connection.tuples(statement))).rows];
  }

  async run(statement: Sql): Promise<number> {
    return (await this.#ask(() => this.#connection.tuples(statement))).changed;
  }

  insertRows(into: Sql, rows: readonly PlainTuple[]): Promise<void> {
    return this.#copy(new CopyQuery(into, rows));
  }

  async inOrder(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
    const results = await Promise.allSettled(steps.map((step) => step()));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  gather<Given>(gathering: Gathering<Given>, row: Given): Promise<void> {
    return gathering.write(this, [row]);
  }

  afterCommit(callback: () => void): void {
    this.callbacks.push(callback);
  }

  /** Not part of `insertRows`, whose pending promise would hold the rows: a thousand objects would be promoted to old garbage. */
  async #copy(query: CopyQuery): Promise<void> {
    await this.#ask(() => this.#connection.copy(query));
  }

  async #ask<Shape>(send: () => Promise<Answer<Shape>>): Promise<Answer<Shape>> {
    assert(!this.#hasEnded, 'a transaction was used after it had ended');
    if (this.#failure !== undefined) {
      this.#hasGoneOn = true;
      throw this.#failure;
    }
    this.#pending += 1;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#options.open();
    }
    try {
      return await (this.#options.isGuarded ? this.#guard(send) : send());
    } catch (error) {
      // A connection rejects with errors only.
      throw this.#note(error as Error);
    } finally {
      this.#pending -= 1;
      this.#watch();
    }
  }

  #note(error: Error): Error {
    if (isCollision(error) || isStaleStatement(error) || hasNoJoinOrder(error)) this.#collision ??= error;
    if (this.#options.isGuarded) return error;
    // Later statements are refused only because the first one failed.
    return (this.#failure ??= error);
  }

  /** Runs guarded statements one after the other: what follows a statement depends on how it ended. */
  #guard<Shape>(send: () => Promise<Answer<Shape>>): Promise<Answer<Shape>> {
    const answer = this.#last.then(async () => {
      const opened = this.#connection.command('SAVEPOINT statement');
      try {
        const [, answer] = await Promise.all([opened, send()]);
        this.#sendAhead('RELEASE statement');
        return answer;
      } catch (error) {
        this.#sendAhead('ROLLBACK TO statement');
        throw error;
      }
    });
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  /** Sends a command with the next statement, at the latest with COMMIT. If it fails so does the connection, and the next statement. */
  #sendAhead(text: string): void {
    this.#connection.command(text).catch(() => undefined);
  }

  /**
   * Everything that a work may await is answered by the connection, and the work continues in the turn of the answer. If a turn ends
   * while the work is neither done nor waiting for a statement, it has awaited something else, and is failed: it holds locks and a
   * connection meanwhile.
   */
  #watch(): void {
    if (this.#pending > 0) return;
    this.#onIdle?.();
    if (!this.#isWorking || this.#isWatched) return;
    this.#isWatched = true;
    setImmediate(() => {
      this.#isWatched = false;
      if (this.#isWorking && this.#pending === 0)
        this.#onForeignAwait?.(new AssertionFailed('a transaction awaited something else than its tx'));
    });
  }
}
