import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../base/clock.ts';
import { AppError, busy, stopping } from '../../base/errors.ts';
import { randomUnit } from '../../base/ids.ts';
import { sql, type Sql, type SqlValue } from '../../sql/sql.ts';
import { type Query, PooledReads, type ReadOptions } from './pooled-reads.ts';
import { ReadBatches } from './read-batches.ts';
import {
  callBack,
  type Database,
  type Names,
  type Row,
  type SearchOptions,
  type Transaction,
  type Tuple,
  type WriteOptions,
} from '../database.ts';
import { type ViewQueries, viewTables } from '../view-query.ts';
import { describePostgresView, searchPostgresDraft } from './postgres-views.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import {
  areOutdated,
  begin,
  beginExclusive,
  commit,
  type Definitions,
  obstacleOf,
  type RunResult,
  PostgresTransaction,
  statementTimes,
} from './postgres-transaction.ts';
import { makePartitions, positionsMin } from './log-partitions.ts';
import { hasNoJoinOrder, isCollision, isStaleStatement, lackedPosition } from './postgres-errors.ts';
import { QueryTimeout, SkippedStatement } from '../engine-errors.ts';
import type { StorageCounts } from '../storage-counts.ts';
import { GRACE_MS, type PostgresPool, WriteGate } from './postgres-pool.ts';
import { SearchTime } from './search-time.ts';
import { SpoiledGroup, WriteGroups } from './write-groups.ts';
import { advisoryKey, collectionTables, postgresNames } from './postgres-names.ts';

export interface PostgresOptions {
  readonly pool: PostgresPool;
  /** The value of the column `instance_id` in the shared tables. */
  readonly instanceId: string;
  /** The instance's own schema, with a table per collection. */
  readonly schema: string;
  readonly definitions?: Definitions;
  /** Where commits and statements are counted; undefined for a database without metrics. */
  readonly counts?: StorageCounts;
  /** Called with the error of a failed read or write. */
  readonly onFailure?: (error: unknown) => void;
  /** The name of the advisory lock that exclusive works take alone; by default the instance's id. */
  readonly lockName?: string;
  /** For request logs: no write waits for a sync, and the last ones may be lost when the server fails. */
  readonly isLossAllowed?: boolean;
  /** Concurrent writes of this instance; the others wait in order, which leaves the rest of the pool to other instances. */
  readonly writersMax?: number;
  readonly waitingMax?: number;
  readonly waitMsMax?: number;
  /** The time-out of an exclusive work: it may rewrite tables, which takes longer than other works may. */
  readonly exclusiveTimeoutMs?: number;
}

/**
 * Opens one instance as a {@link Database}. How the promises of the port are kept:
 *
 * - Each work has a transaction of its own (READ COMMITTED), or shares one with works that append or change other rows
 *   (write-groups.ts). Works of one instance run concurrently, so a SELECT must lock the rows that its work is going to write
 *   (`names.locks.forUpdate`). `BEGIN` is sent in one packet with the first statement, COMMIT by itself.
 * - An exclusive work takes the instance's advisory lock alone, all others share it: no process writes by definitions that an
 *   exclusive work is changing. Works of this process wait until its `afterCommit` is over; those of others notice the change by
 *   `definitions`.
 * - A work that collides with another is run again up to three times; one for whose rows the log has no partition, when that is made.
 */
export function openPostgres(options: PostgresOptions): Database {
  return new PostgresDatabase(options);
}

/** With a dozen concurrent commits the server's group commit works well; more would hold connections that others wait for. */
const writersMax = 16;
const waitingMax = 10_000;
const waitMsMax = 10_000;
const EXCLUSIVE_TIMEOUT_MS = 10 * 60_000;
/** How long a group waits for a lock of another transaction. After that its works are run one by one, and only those concerned wait on. */
const groupLockMsMax = 100;

const retriesMax = 3;
/** How often partitions are made for one work: it writes to several tables, which may lack different ones. */
const partitionsMax = 4;
const RETRY_DELAY_MS = 10;

class PostgresDatabase implements Database {
  readonly engine = 'postgres';
  readonly names: Names;
  readonly #options: PostgresOptions;
  readonly #pool: PostgresPool;
  readonly #gate: WriteGate;
  readonly #groups: WriteGroups;
  readonly #reads: PooledReads;
  readonly #readBatches: ReadBatches;
  readonly #lock: Sql;
  readonly #lockOfGroup: Sql;
  readonly #beginExclusive: string;
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
      alone: (work, searchTime) => this.#write(work, { searchTime }),
      together: (work, keptCount) =>
        this.#write(work, { isGroup: true, keptCount, searchTime: this.#searchTime() }),
      waitingMax: options.waitingMax ?? waitingMax,
    });
    const { pool, definitions, counts } = options;
    this.#reads = new PooledReads({ pool, instanceId: options.instanceId, definitions, counts });
    this.#readBatches = new ReadBatches({
      query: (statement, options) => this.#reads.read((connection) => connection.tuples(statement), options),
      waitingMax: options.waitingMax ?? waitingMax,
    });
    const key = advisoryKey(options.lockName ?? options.instanceId);
    this.#lock = sql`SELECT pg_advisory_xact_lock_shared(${key})`;
    // The lock first: a group waits for an exclusive work as long as other works do, without this lock_timeout.
    this.#lockOfGroup = sql`SELECT pg_advisory_xact_lock_shared(${key}), set_config('lock_timeout', ${String(groupLockMsMax)}, true)`;
    this.#beginExclusive = beginExclusive(key, {
      timeoutMs: options.exclusiveTimeoutMs ?? EXCLUSIVE_TIMEOUT_MS,
      lockTimeoutMs: options.pool.transactionTimeoutMs,
    });
  }

  async all(statement: Sql): Promise<Row[]> {
    // No client's query, which would be compiled again for definitions that have changed.
    const readOptions = { ...this.#readOptions(statement), definitionsVersion: undefined };
    return await this.#read((connection) => connection.rows(statement), readOptions);
  }

  async get(statement: Sql): Promise<Row | undefined> {
    return (await this.all(statement))[0];
  }

  async tuples(statement: Sql): Promise<Tuple[]> {
    if (statement.form?.kind === 'lookup' && !this.#isStopped)
      return [
        ...(await this.#reportFailure(this.#readBatches.lookUp(statement, this.#readOptions(statement)))),
      ];
    return await this.#read((connection) => connection.tuples(statement), this.#readOptions(statement));
  }

  async search(statement: Sql, options: SearchOptions = {}): Promise<Tuple[]> {
    const { isQuick = false, spentMs = 0, bytesMax } = options;
    const { queryTimeoutMs, statementTimeoutMs } = this.#pool;
    const ownMs = options.timeoutMs ?? queryTimeoutMs;
    const timeoutMs = isQuick ? statementTimeoutMs : Math.min(ownMs, queryTimeoutMs, statementTimeoutMs);
    if (this.#isStopped) throw stopping();
    // A search may take the whole timeout again.
    if (spentMs > timeoutMs) throw new QueryTimeout();
    const readOptions = { ...this.#readOptions(statement, timeoutMs), kind: 'search', bytesMax } as const;
    return [...(await this.#reportFailure(this.#readBatches.search(statement, readOptions)))];
  }

  state(): undefined {
    return undefined;
  }

  readonly describeView: ViewQueries['describeView'] = (draft) => describePostgresView(this, draft);

  searchDraft(statement: Sql): Promise<Tuple[]> {
    return searchPostgresDraft(this, this.#options, statement);
  }

  async write<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options: WriteOptions = {},
  ): Promise<Result> {
    if (this.#isStopped) throw stopping();
    const searchTime = this.#searchTime();
    const isShared = options.isAppending === true || options.changes !== undefined;
    return await this.#reportFailure(
      isShared
        ? this.#groups.add(work, { changes: options.changes, searchTime })
        : this.#write(work, { ...options, searchTime }),
    );
  }

  async #write<Result>(work: Work<Result>, options: WorkOptions): Promise<Result> {
    const isExclusive = options.isExclusive ?? false;
    await this.#gate.enter(isExclusive);
    try {
      const { value, callbacks } = await this.#runUntilCommitted(work, { ...options, isExclusive });
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
    await this.#readBatches.drain();
    await this.#reads.drain();
  }

  async #read<Shape>(query: Query<Shape>, options: ReadOptions): Promise<Shape[]> {
    if (this.#isStopped) throw stopping();
    return [...(await this.#reportFailure(this.#reads.read(query, options)))];
  }

  /** Passes a failure on to `onFailure`, for the health of the storage. */
  async #reportFailure<Result>(result: Promise<Result>): Promise<Result> {
    try {
      return await result;
    } catch (error) {
      this.#options.onFailure?.(error);
      throw error;
    }
  }

  #readOptions({ tables, form }: Sql, timeoutMs = this.#pool.statementTimeoutMs): ReadOptions {
    return {
      timeoutMs,
      isKeyed: form?.kind === 'keyed',
      isReadOnly: tables.includes(viewTables),
      definitionsVersion: tables.includes(collectionTables)
        ? this.#options.definitions?.versionInMemory()
        : undefined,
    };
  }

  async #runUntilCommitted<Result>(
    work: Work<Result>,
    options: Omit<RunOptions, 'isGuarded' | 'isOrdered'>,
  ): Promise<RunResult<Result> & { kind: 'kept' }> {
    let isGuarded = false;
    let isOrdered = false;
    const overtakenUntilMs = systemClock.monotonic() + (this.#options.waitMsMax ?? waitMsMax);
    for (let retries = 0, partitions = 0; ;) {
      const run = (connection: PostgresConnection): Promise<RunResult<Result>> =>
        this.#run(connection, work, { ...options, isGuarded, isOrdered });
      const outcome = await this.#pool.lend(run, this.#options.instanceId);
      if (outcome.kind === 'kept') return outcome;
      if (outcome.kind === 'failed') throw outcome.error;
      const position = outcome.kind === 'collided' ? lackedPosition(outcome.error) : undefined;
      if (position !== undefined && partitions < partitionsMax) {
        partitions += 1;
        await this.#makePartition(position);
        continue;
      }
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
      // Tables were changed meanwhile. That is no collision: it is retried for as long as changes follow each other, up to the limit.
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

  /** Usually there is one in time, and this is needed only after a jump of the positions. Not through the gate, in which the work is. */
  async #makePartition(position: number): Promise<void> {
    const make = (tx: Transaction): Promise<number> => makePartitions(tx, { size: positionsMin, position });
    await this.#runUntilCommitted(make, { isExclusive: false, searchTime: this.#searchTime() });
  }

  /** Runs the work once, on one connection. Throws when it is lost, or when its commit failed or its outcome is unknown. */
  async #run<Result>(
    connection: PostgresConnection,
    work: Work<Result>,
    options: RunOptions,
  ): Promise<RunResult<Result>> {
    const { definitions, counts } = this.#options;
    // Read before the work uses the memory: if that is refreshed meanwhile, the work is at worst run again needlessly.
    const version = definitions?.versionInMemory();
    let obstacle: Promise<RunResult<never> | undefined> | undefined;
    const tx = new PostgresTransaction(connection, {
      names: this.names,
      isGuarded: options.isGuarded,
      times: statementTimes(this.#pool, options),
      searchTime: options.searchTime,
      open: () => {
        obstacle = obstacleOf(this.#open(connection, options, version));
      },
    });
    const startMs = systemClock.monotonic();
    const timer = connection.expireAfter(this.#deadlineMs(options.isExclusive));
    try {
      const settled = await settle(tx, work);
      // A work that ran no statement has decided by the definitions in memory alone.
      obstacle ??= obstacleOf(areOutdated(connection, definitions, version));
      if (!tx.hasBegun) return (await obstacle) ?? settled;
      const outcome = (await obstacle) ?? judge(tx, settled);
      // The transaction is gone with a lost connection, even if the work swallowed the error.
      if (connection.isLost) throw lost(outcome);
      if (outcome.kind !== 'kept') {
        await connection.command('ROLLBACK');
        return outcome;
      }
      const committedFromMs = systemClock.monotonic();
      await commit(connection);
      counts?.sqlSeconds.write.noteMs(committedFromMs - startMs);
      counts?.noteCommit(options.keptCount?.() ?? 1, systemClock.monotonic() - committedFromMs);
      return outcome;
    } catch (error) {
      if (isCollision(error)) return { kind: 'collided', error };
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends the statements that open a work's transaction; resolves to whether the definitions in memory are outdated. */
  async #open(
    connection: PostgresConnection,
    options: RunOptions,
    version: SqlValue | undefined,
  ): Promise<boolean> {
    const { definitions, isLossAllowed } = this.#options;
    connection.limitStatements(this.#pool.statementTimeoutMs);
    connection.planByKeys(options.findsByKey === true);
    const begun = connection.command(
      options.isExclusive ? this.#beginExclusive : begin({ ...options, isLossAllowed }),
    );
    const locked = options.isExclusive
      ? undefined
      : connection.tuples(options.isGroup === true ? this.#lockOfGroup : this.#lock);
    // Not one statement with the lock: its snapshot would be taken before the wait, and miss what the lock's holder commits.
    const outdated = areOutdated(connection, definitions, version);
    const [, , isOutdated] = await Promise.all([begun, locked, outdated]);
    return isOutdated;
  }

  #searchTime(): SearchTime {
    return new SearchTime(this.#pool.queryTimeoutMs);
  }

  #deadlineMs(isExclusive: boolean): number {
    if (!isExclusive) return this.#pool.transactionTimeoutMs + GRACE_MS;
    return (this.#options.exclusiveTimeoutMs ?? EXCLUSIVE_TIMEOUT_MS) + GRACE_MS;
  }
}

type Work<Result> = (tx: PostgresTransaction) => Promise<Result>;

interface WorkOptions extends WriteOptions {
  /** What the searches of the work share, however often it is run. */
  readonly searchTime: SearchTime;
  /** The work is a group of works, each of which can also be run alone. */
  readonly isGroup?: boolean;
  /** How many works of the group are kept by its commit. */
  readonly keptCount?: () => number;
}

interface RunOptions extends WorkOptions {
  readonly isExclusive: boolean;
  readonly isGuarded: boolean;
  /** See {@link hasNoJoinOrder}. */
  readonly isOrdered: boolean;
}

function settle<Result>(tx: PostgresTransaction, work: Work<Result>): Promise<RunResult<Result>> {
  return tx.settle(work).then(
    (value) => ({ kind: 'kept', value, callbacks: tx.callbacks }),
    (error: unknown) => ({ kind: 'failed', error: error instanceof SkippedStatement ? error.cause : error }),
  );
}

/** Decides what became of a work whose connection is not lost. */
function judge<Result>(tx: PostgresTransaction, settled: RunResult<Result>): RunResult<Result> {
  if (tx.collision !== undefined) return { kind: 'collided', error: tx.collision };
  if (settled.kind === 'failed' && isCollision(settled.error))
    return { kind: 'collided', error: settled.error };
  return tx.hasSwallowed(settled.kind === 'kept') ? { kind: 'needs_guards' } : settled;
}

function lost(outcome: RunResult<unknown>): unknown {
  const error = 'error' in outcome ? outcome.error : undefined;
  if (error instanceof AppError && error.code === 'unavailable') return error;
  return busy(error);
}
