import { assert } from '../../base/assert.ts';
import { systemClock } from '../../base/clock.ts';
import { AppError, busy, stopping } from '../../base/errors.ts';
import { randomUnit } from '../../base/ids.ts';
import { identifier, sql, type Sql } from '../../sql/sql.ts';
import { askAgain } from './ask-again.ts';
import { askCurrent, type Ask } from './ask-current.ts';
import { AccessMemory } from './access-memory.ts';
import type {
  Access,
  Database,
  Names,
  Row,
  SearchOptions,
  Transaction,
  Tuple,
  WriteOptions,
} from '../database.ts';
import { callBack } from '../call-back.ts';
import { explainWithoutScans, postgresAccess } from './postgres-access.ts';
import type { Answer, PostgresConnection } from './postgres-connection.ts';
import { begin, beginExclusive } from './postgres-begin.ts';
import {
  hasNoJoinOrder,
  isCollision,
  isOutdatedName,
  isStaleStatement,
  toCommitError,
} from './postgres-errors.ts';
import { EngineFailure, OutdatedDefinitions } from '../engine-errors.ts';
import { runGathering } from './run-gathering.ts';
import { WriteGate } from './postgres-gate.ts';
import { SpoiledGroup, WriteGroups } from './postgres-groups.ts';
import { advisoryKey, postgresNames } from './postgres-names.ts';
import { Opening, type Definitions, type Outcome } from './postgres-opening.ts';
import type { PostgresPool } from './postgres-pool.ts';
import { Questions } from './postgres-questions.ts';
import { SharedSessions } from './postgres-shared-sessions.ts';
import type { PostgresState } from './postgres-state.ts';
import { PostgresTransaction } from './postgres-transaction.ts';

export interface PostgresOptions {
  readonly pool: PostgresPool;
  /** In the column `instance_id` of the shared tables. */
  readonly instanceId: string;
  /** The instance's own, with a table per collection. */
  readonly schema: string;
  readonly definitions?: Definitions;
  /** Of the server. */
  readonly state?: PostgresState;
  /** Told of what is written here, on which nothing rests that is known by it. */
  readonly aside?: PostgresState;
  /** What exclusive works keep all others from; the instance where nothing else is said. */
  readonly lockName?: string;
  /** For logs: what was written last may be lost when the server fails, and no write waits for a sync. */
  readonly isLossAllowed?: boolean;
  /** Writes of this instance at the same time; the others wait in order, and leave the rest of the pool to other instances. */
  readonly writersMax?: number;
  readonly waitingMax?: number;
  readonly waitMsMax?: number;
  /** Changes of tables may rewrite them, which takes longer than any request may. */
  readonly exclusiveTimeoutMs?: number;
}

/**
 * Opens one instance as a {@link Database}. The promises of the port, kept by a pool of connections:
 *
 * - Each work has a transaction of its own (READ COMMITTED), or shares one with others that append or change other rows
 *   (postgres-groups.ts), so works of one instance run at the same time: what a work reads in order to write it must be locked by its
 *   SELECT (`names.forUpdate`). `BEGIN` goes out with the first statement, COMMIT alone.
 * - An exclusive work holds the instance's advisory lock alone, all others share it: no process writes by definitions that an
 *   exclusive work is changing. In this process they wait until its `afterCommit` is over, in others `definitions` tells them.
 * - Collisions are tried again, up to three times.
 */
export function openPostgres(options: PostgresOptions): Database {
  return new PostgresDatabase(options);
}

/** A dozen commits share a sync of the server's log well; more would hold connections that others wait for. */
const writersMax = 16;
const waitingMax = 10_000;
const waitMsMax = 10_000;
const EXCLUSIVE_TIMEOUT_MS = 10 * 60_000;
/** For a lock of somebody else's: beyond it a group's works are run one by one, and only those wait on whose it is. */
const groupLockMsMax = 100;

/** The server gives up first and says so; whoever waits longer than this waits for a network. */
const GRACE_MS = 2_000;

const retriesMax = 3;
const RETRY_DELAY_MS = 10;

class PostgresDatabase implements Database {
  readonly engine = 'postgres';
  readonly names: Names;
  readonly #options: PostgresOptions;
  readonly #pool: PostgresPool;
  readonly #gate: WriteGate;
  readonly #groups: WriteGroups;
  readonly #questions: Questions;
  readonly #lock: Sql;
  readonly #lockOfGroup: Sql;
  readonly #beginExclusive: string;
  /** In each statement about a table of a collection: those have a schema of their own. */
  readonly #ofCollections: string;
  readonly #accesses = new AccessMemory();
  readonly #reads = new Set<Promise<unknown>>();
  #isStopped = false;

  constructor(options: PostgresOptions) {
    this.names = postgresNames(options.schema, options.instanceId);
    this.#options = options;
    this.#pool = options.pool;
    this.#gate = new WriteGate({
      sharedMax: Math.min(options.writersMax ?? writersMax, options.pool.max),
      waitingMax: options.waitingMax ?? waitingMax,
      waitMsMax: options.waitMsMax ?? waitMsMax,
    });
    this.#groups = new WriteGroups({
      alone: (work) => this.#write(work, {}),
      together: (work) => this.#write(work, { isGroup: true }),
      waitingMax: options.waitingMax ?? waitingMax,
    });
    const sessions = new SharedSessions({
      lend: (use) => this.#pool.lend(use),
      silenceMsMax: options.pool.statementTimeoutMs + GRACE_MS,
    });
    this.#ofCollections = `${identifier(options.schema).text}.`;
    this.#questions = new Questions({
      ask: async (statement, timeoutMs) => {
        const ask = this.#asking(statement);
        return (await this.#noted(sessions.ask((connection) => askAgain(connection, ask), timeoutMs))).rows;
      },
      timeoutMs: options.pool.statementTimeoutMs,
      waitingMax: options.waitingMax ?? waitingMax,
    });
    const key = advisoryKey(options.lockName ?? options.instanceId);
    this.#lock = sql`SELECT pg_advisory_xact_lock_shared(${key})`;
    // In this order: a change of tables is waited for as long as by others.
    this.#lockOfGroup = sql`SELECT pg_advisory_xact_lock_shared(${key}), set_config('lock_timeout', ${String(groupLockMsMax)}, true)`;
    this.#beginExclusive = beginExclusive(key, {
      timeoutMs: options.exclusiveTimeoutMs ?? EXCLUSIVE_TIMEOUT_MS,
      lockTimeoutMs: options.pool.transactionTimeoutMs,
    });
  }

  async all(statement: Sql): Promise<Row[]> {
    return [...(await this.#read((connection) => connection.rows(statement))).rows];
  }

  async get(statement: Sql): Promise<Row | undefined> {
    return (await this.#read((connection) => connection.rows(statement))).rows[0];
  }

  async tuples(statement: Sql): Promise<Tuple[]> {
    if (statement.together === 'lookup' && !this.#isStopped)
      return [...(await this.#questions.lookUp(statement))];
    return [...(await this.#read(this.#asking(statement))).rows];
  }

  async search(statement: Sql, { isQuick = false }: SearchOptions = {}): Promise<Tuple[]> {
    const { queryTimeoutMs, statementTimeoutMs } = this.#pool;
    const timeoutMs = isQuick ? statementTimeoutMs : Math.min(queryTimeoutMs, statementTimeoutMs);
    if (this.#isStopped) throw stopping();
    return [...(await this.#questions.search(statement, timeoutMs))];
  }

  state(asOfMs?: number): object | undefined | Promise<object | undefined> {
    return this.#isStopped ? undefined : this.#options.state?.since(asOfMs);
  }

  access(statement: Sql): Promise<Access> {
    return this.#accesses.find(statement.text, async () => {
      const { rows } = await this.#read((connection) => explainWithoutScans(connection, statement));
      return postgresAccess(String(rows[0]?.[0]));
    });
  }

  async write<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options: WriteOptions = {},
  ): Promise<Result> {
    if (this.#isStopped) throw stopping();
    if (options.isAppending === true || options.changes !== undefined)
      return await this.#groups.add(work, options.changes);
    return await this.#write(work, options);
  }

  async #write<Result>(work: (tx: Transaction) => Promise<Result>, options: WorkOptions): Promise<Result> {
    const isExclusive = options.isExclusive ?? false;
    await this.#gate.enter(isExclusive);
    try {
      const { value, callbacks } = await this.#runUntilKept(work, { ...options, isExclusive });
      for (const callback of callbacks) callBack(callback);
      return value;
    } finally {
      this.#gate.leave();
    }
  }

  /** The pool stays open: other instances use it. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#groups.drain();
    await this.#gate.drain();
    await this.#questions.drain();
    await Promise.allSettled(this.#reads);
  }

  #asking(statement: Sql): Ask<Tuple> {
    const { definitions } = this.#options;
    const ask: Ask<Tuple> = (connection) => connection.tuples(statement);
    const isOfOthers = definitions === undefined || !statement.text.includes(this.#ofCollections);
    return isOfOthers ? ask : askCurrent(ask, definitions);
  }

  async #read<Shape>(ask: Ask<Shape>): Promise<Answer<Shape>> {
    if (this.#isStopped) throw stopping();
    const { statementTimeoutMs } = this.#pool;
    const reading = this.#pool.lend(async (connection) => {
      connection.limitStatements(statementTimeoutMs);
      const timer = connection.expireAfter(statementTimeoutMs + GRACE_MS);
      return await askAgain(connection, ask).finally(() => clearTimeout(timer));
    });
    return await this.#noted(reading);
  }

  /** Waited for when the database stops; where it has met definitions that are no more, it says so when all is read again. */
  async #noted<Shape>(reading: Promise<Answer<Shape>>): Promise<Answer<Shape>> {
    this.#reads.add(reading);
    try {
      return await reading;
    } catch (error) {
      const { definitions } = this.#options;
      const isOutdated = error instanceof OutdatedDefinitions || isOutdatedName(error);
      if (definitions === undefined || !isOutdated) throw error;
      await definitions.refresh();
      throw new OutdatedDefinitions(error);
    } finally {
      this.#reads.delete(reading);
    }
  }

  async #runUntilKept<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options: Omit<RunOptions, 'isGuarded' | 'isOrdered'>,
  ): Promise<Outcome<Result> & { kind: 'kept' }> {
    let isGuarded = false;
    let isOrdered = false;
    const overtakenUntilMs = systemClock.monotonic() + (this.#options.waitMsMax ?? waitMsMax);
    for (let retries = 0; ;) {
      const outcome = await this.#pool.lend((connection) =>
        this.#run(connection, work, { ...options, isGuarded, isOrdered }),
      );
      if (outcome.kind === 'kept') return outcome;
      if (outcome.kind === 'failed') throw outcome.error;
      if (options.isGroup === true && outcome.kind !== 'outdated')
        throw new SpoiledGroup('The group has collided.');
      if (outcome.kind === 'needs_guards') {
        isGuarded = true;
        continue;
      }
      const error = outcome.kind === 'collided' ? outcome.error : undefined;
      if (!isOrdered && hasNoJoinOrder(error)) {
        isOrdered = true;
        continue;
      }
      // Somebody has changed tables, each time: that is no collision, and it ends when the changes do.
      const isOvertaken = outcome.kind === 'outdated' || isStaleStatement(error);
      if (isOvertaken && systemClock.monotonic() < overtakenUntilMs) {
        await this.#options.definitions?.refresh();
        continue;
      }
      if (isOvertaken || retries === retriesMax) throw busy(error);
      retries += 1;
      await pause(RETRY_DELAY_MS * 2 ** retries * randomUnit());
    }
  }

  /** One try, on one connection. Throws what the work threw, or what kept it from being kept. */
  async #run<Result>(
    connection: PostgresConnection,
    work: (tx: Transaction) => Promise<Result>,
    options: RunOptions,
  ): Promise<Outcome<Result>> {
    const opening = new Opening(connection, this.#options.definitions);
    const tx = new PostgresTransaction(connection, {
      names: this.names,
      isGuarded: options.isGuarded,
      open: () => {
        const { isGroup } = options;
        connection.limitStatements(this.#pool.statementTimeoutMs);
        if (options.isExclusive) opening.send(this.#beginExclusive);
        else {
          const { isLossAllowed } = this.#options;
          opening.send(
            begin({ ...options, isLossAllowed }),
            isGroup === true ? this.#lockOfGroup : this.#lock,
          );
        }
      },
    });
    const timer = connection.expireAfter(this.#deadlineMs(options.isExclusive));
    try {
      const isGathering = options.isGathering === true && !options.isGuarded;
      const settled = await settle(tx, isGathering ? (given) => runGathering(given, work) : work);
      if (!tx.hasBegun) return (await opening.lookOnly()) ?? settled;
      const outcome = (await opening.obstacle()) ?? judge(tx, settled);
      // A lost connection has taken the transaction with it, whatever the work made of that.
      if (connection.isLost) throw lost(outcome);
      if (outcome.kind !== 'kept') {
        await connection.command('ROLLBACK');
        return outcome;
      }
      await this.#leaveAside(connection);
      await commit(connection);
      return outcome;
    } catch (error) {
      if (isCollision(error)) return { kind: 'collided', error };
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #leaveAside(connection: PostgresConnection): Promise<void> {
    const { aside } = this.#options;
    if (aside === undefined) return;
    const { rows } = await connection.tuples(sql`SELECT pg_current_xact_id_if_assigned()::text`);
    const transaction = rows[0]?.[0] ?? null;
    if (transaction !== null) aside.ignore(Number(transaction));
  }

  #deadlineMs(isExclusive: boolean): number {
    if (!isExclusive) return this.#pool.transactionTimeoutMs + GRACE_MS;
    return (this.#options.exclusiveTimeoutMs ?? EXCLUSIVE_TIMEOUT_MS) + GRACE_MS;
  }
}

interface WorkOptions extends WriteOptions {
  /** Stands for many works, each of which can also be run alone. */
  readonly isGroup?: boolean;
}

interface RunOptions extends WorkOptions {
  readonly isExclusive: boolean;
  readonly isGuarded: boolean;
  /** See {@link hasNoJoinOrder}. */
  readonly isOrdered: boolean;
}

function settle<Result>(
  tx: PostgresTransaction,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Outcome<Result>> {
  return tx.settle(work).then(
    (value) => ({ kind: 'kept', value, callbacks: tx.callbacks }),
    (error: unknown) => ({ kind: 'failed', error }),
  );
}

/** What became of a work whose connection still stands. */
function judge<Result>(tx: PostgresTransaction, settled: Outcome<Result>): Outcome<Result> {
  if (tx.collision !== undefined) return { kind: 'collided', error: tx.collision };
  if (settled.kind === 'failed' && isCollision(settled.error))
    return { kind: 'collided', error: settled.error };
  return tx.hasSwallowed(settled.kind === 'kept') ? { kind: 'needs_guards' } : settled;
}

async function commit(connection: PostgresConnection): Promise<void> {
  const warnings = connection.warnings;
  let command: string;
  try {
    ({ command } = await connection.command('COMMIT'));
  } catch (error) {
    throw toCommitError(error);
  }
  // To the COMMIT of a transaction that had failed the server answers ROLLBACK.
  assert(command === 'COMMIT', 'a transaction that is committed has not failed');
  // An operator has ended its wait for a synchronous standby: it is kept here, and a failover may lose it.
  if (connection.warnings > warnings) throw new EngineFailure(new Error('The server warned of the COMMIT.'));
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

function lost(outcome: Outcome<unknown>): unknown {
  const error = 'error' in outcome ? outcome.error : undefined;
  if (error instanceof AppError && error.code === 'unavailable') return error;
  return busy(error);
}
