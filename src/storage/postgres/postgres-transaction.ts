import { setImmediate as nextTurn } from 'node:timers/promises';
import { assert, AssertionFailed } from '../../base/assert.ts';
import type { Sql, SqlValue } from '../../sql/sql.ts';
import type { BulkInsert, Names, Row, SearchOptions, Transaction, Tuple } from '../database.ts';
import type { StatementResult, PostgresConnection } from './postgres-connection.ts';
import { EngineFailure, QueryTimeout, SkippedStatement } from '../engine-errors.ts';
import {
  hasNoJoinOrder,
  isCollision,
  isStaleStatement,
  lackedPosition,
  toCommitError,
} from './postgres-errors.ts';
import { CopyQuery } from './prepared-statements.ts';
import type { SearchTime } from './search-time.ts';

export interface PostgresTransactionOptions {
  readonly names: Names;
  /** Sets a savepoint before each statement, so that a work may go on after a statement that was refused. */
  readonly isGuarded: boolean;
  /** Undefined where searches have the time of all statements. */
  readonly times: StatementTimes | undefined;
  /** What the searches of the work share. */
  readonly searchTime: SearchTime;
  /** Sends what opens the transaction; called with the first statement, and in one packet with it. */
  readonly open: () => void;
}

/**
 * The `tx` of a work that has a transaction of its own. Statements run in the order of their calls, awaited or not;
 * calls without an await between them share a round trip.
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

  /** True when the work has swallowed an error that failed its transaction: it is done, or has run another statement. */
  hasSwallowed(isDone: boolean): boolean {
    return this.#failure !== undefined && (isDone || this.#hasGoneOn);
  }

  /** An error after which only running the work again from the start can help. */
  get collision(): unknown {
    return this.#collision;
  }

  /** Runs the work; settles when it is over and all its statements are answered. */
  async settle<Result>(work: (tx: PostgresTransaction) => Promise<Result>): Promise<Result> {
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
    return [...(await this.#run(() => this.#connection.rows(statement))).rows];
  }

  search(statement: Sql, options?: SearchOptions): Promise<Tuple[]> {
    return this.searchFor(this.#options.searchTime, statement, options);
  }

  /** As `search`, for one of the works that share this transaction: each has a time of its own. */
  async searchFor(
    time: SearchTime,
    statement: Sql,
    { isExempt = false }: SearchOptions = {},
  ): Promise<Tuple[]> {
    const { times } = this.#options;
    if (times === undefined) return await this.tuples(statement);
    const timeoutMs = isExempt ? times.searchMs : time.requireMs();
    const around = {
      before: limitStatements(timeoutMs),
      after: limitStatements(times.otherMs),
      ...(!isExempt && { spend: (tookMs: number) => time.spend(tookMs) }),
    };
    const query = (): Promise<StatementResult<Tuple>> => this.#connection.tuples(statement);
    try {
      return [...(await this.#run(() => this.#connection.between(around, query))).rows];
    } catch (error) {
      if (!isExempt && error instanceof QueryTimeout) time.end();
      throw error;
    }
  }

  async get(statement: Sql): Promise<Row | undefined> {
    return (await this.#run(() => this.#connection.rows(statement))).rows[0];
  }

  async tuples(statement: Sql): Promise<Tuple[]> {
    return [...(await this.#run(() => this.#connection.tuples(statement))).rows];
  }

  async run(statement: Sql): Promise<number> {
    return (await this.#run(() => this.#connection.tuples(statement))).changed;
  }

  returning(statement: Sql): Promise<Tuple[]> {
    return this.tuples(statement);
  }

  insertRows(into: Sql, rows: readonly Tuple[]): Promise<void> {
    return this.#copy(new CopyQuery(into, rows));
  }

  async inOrder(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
    const results = await Promise.allSettled(steps.map((step) => step()));
    const errors = results.flatMap((result): unknown =>
      result.status === 'rejected' ? [result.reason] : [],
    );
    if (errors.length > 0) throw errors.find((error) => !(error instanceof SkippedStatement)) ?? errors[0];
  }

  insertLater<Item>(bulkInsert: BulkInsert<Item>, row: Item): Promise<void> {
    return bulkInsert.write(this, [row]);
  }

  async pause(): Promise<void> {
    this.#pending += 1;
    await nextTurn();
    this.#pending -= 1;
    this.#watch();
  }

  afterCommit(callback: () => void): void {
    this.callbacks.push(callback);
  }

  /** Not part of `insertRows`, whose pending promise would hold the rows: a thousand objects would be promoted to old garbage. */
  async #copy(query: CopyQuery): Promise<void> {
    await this.#run(() => this.#connection.copy(query));
  }

  async #run<Shape>(send: () => Promise<StatementResult<Shape>>): Promise<StatementResult<Shape>> {
    assert(!this.#hasEnded, 'a transaction was used after it had ended');
    if (this.#failure !== undefined) {
      this.#hasGoneOn = true;
      throw new SkippedStatement(this.#failure);
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
    // What follows in a failed transaction fails by that, whatever the server reports: a statement was not prepared, for example.
    if (this.#failure !== undefined) return new SkippedStatement(this.#failure);
    const isPassing = isCollision(error) || isStaleStatement(error) || hasNoJoinOrder(error);
    if (isPassing || lackedPosition(error) !== undefined) this.#collision ??= error;
    if (this.#options.isGuarded) return error;
    return (this.#failure = error);
  }

  /** Runs guarded statements one after the other: what follows a statement depends on how it ended. */
  #guard<Shape>(send: () => Promise<StatementResult<Shape>>): Promise<StatementResult<Shape>> {
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

/** How long a statement of a transaction may take, in milliseconds. */
interface StatementTimes {
  /** For a search, whose duration is up to clients. */
  readonly searchMs: number;
  readonly otherMs: number;
}

/** Undefined where all statements may take as long: an exclusive work may rewrite tables. */
export function statementTimes(
  pool: { readonly queryTimeoutMs: number; readonly statementTimeoutMs: number },
  { isExclusive, statementMsMax }: { readonly isExclusive: boolean; readonly statementMsMax?: number },
): StatementTimes | undefined {
  const otherMs = statementMsMax ?? pool.statementTimeoutMs;
  return isExclusive || pool.queryTimeoutMs >= otherMs
    ? undefined
    : { searchMs: pool.queryTimeoutMs, otherMs };
}

/** The command that limits the following statements of the transaction. */
function limitStatements(timeoutMs: number): string {
  assert(Number.isInteger(timeoutMs), 'a timeout is a whole number of milliseconds');
  return `SET LOCAL statement_timeout = ${timeoutMs}`;
}

export interface BeginOptions {
  /** The statement time-out of the transaction, if it differs from the session's. */
  readonly statementMsMax?: number | undefined;
  readonly isLossAllowed?: boolean | undefined;
  /** Whether the planner joins tables in the order in which a statement names them (`hasNoJoinOrder`). */
  readonly isOrdered: boolean;
}

/** The command that opens a transaction. */
export function begin({ statementMsMax, isLossAllowed = false, isOrdered }: BeginOptions): string {
  const unsynced = isLossAllowed ? '; SET LOCAL synchronous_commit = off' : '';
  const ordered = isOrdered ? `; SET LOCAL ${joinsInOrder}` : '';
  if (statementMsMax === undefined) return `BEGIN${unsynced}${ordered}`;
  return `BEGIN${unsynced}${ordered}; ${limitStatements(statementMsMax)}`;
}

/** https://www.postgresql.org/docs/current/runtime-config-query.html#GUC-JOIN-COLLAPSE-LIMIT */
export const joinsInOrder = 'join_collapse_limit = 1';

export interface ExclusiveOptions {
  readonly timeoutMs: number;
  readonly lockTimeoutMs: number;
}

/** The command that opens a transaction and takes an advisory lock exclusively. */
export function beginExclusive(key: bigint, { timeoutMs, lockTimeoutMs }: ExclusiveOptions): string {
  assert(Number.isInteger(timeoutMs), 'a timeout is a whole number of milliseconds');
  const set = (name: string, value: number): string => `set_config('${name}', '${value}', true)`;
  // A running transaction_timeout ignores a new value and ends only at 0: without the 0, the session's value would stay in force.
  const whole = [0, timeoutMs].map(
    (value) =>
      `CASE WHEN current_setting('server_version_num')::integer >= 170000 THEN ${set('transaction_timeout', value)} END`,
  );
  return `BEGIN; SELECT ${set('statement_timeout', timeoutMs)}, ${set('lock_timeout', lockTimeoutMs)},
      ${whole.join(', ')};
    SELECT pg_advisory_xact_lock(${key})`;
}

/** How a write finds out that another process has changed the definitions that this process has in memory. */
export interface Definitions {
  /** A SELECT of one value, which every write runs without a round trip of its own. */
  readonly version: Sql;
  /** The version of the definitions in memory. */
  versionInMemory(): SqlValue;
  /** Reads the definitions again. Called when another version was found; the work is then run again. */
  refresh(): Promise<void>;
}

/** The result of running a work once. */
export type RunResult<Result> =
  | { readonly kind: 'kept'; readonly value: Result; readonly callbacks: readonly (() => void)[] }
  | { readonly kind: 'collided'; readonly error: unknown }
  | { readonly kind: 'needs_guards' }
  | { readonly kind: 'outdated' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Whether the definitions in the database are no longer those in memory, of the given version. */
export async function areOutdated(
  connection: PostgresConnection,
  definitions: Definitions | undefined,
  version: SqlValue | undefined,
): Promise<boolean> {
  if (definitions === undefined) return false;
  const { rows } = await connection.tuples(definitions.version);
  return rows[0]?.[0] !== version;
}

/** Returns what keeps a work from being committed, if anything does, by the answers to what opened its transaction. */
export async function obstacleOf(isOutdated: Promise<boolean>): Promise<RunResult<never> | undefined> {
  try {
    return (await isOutdated) ? { kind: 'outdated' } : undefined;
  } catch (error) {
    return { kind: isCollision(error) || isStaleStatement(error) ? 'collided' : 'failed', error };
  }
}

/** Throws an EngineFailure when it is unknown whether the commit will last. */
export async function commit(connection: PostgresConnection): Promise<void> {
  const warnings = connection.warnings;
  let command: string;
  try {
    ({ command } = await connection.command('COMMIT'));
  } catch (error) {
    throw toCommitError(error);
  }
  // The server answers ROLLBACK to the COMMIT of a failed transaction.
  assert(command === 'COMMIT', 'a transaction that is committed has not failed');
  // The wait for a synchronous standby was cancelled: the commit is kept on this server, but a failover may lose it.
  if (connection.warnings > warnings) throw new EngineFailure(new Error('The server warned of the COMMIT.'));
}
