import { systemClock } from '../../base/clock.ts';
import type { SqlValue } from '../../sql/sql.ts';
import { OutdatedDefinitions } from '../engine-errors.ts';
import type { StatementKind, StorageCounts } from '../storage-counts.ts';
import type { StatementResult, PostgresConnection } from './postgres-connection.ts';
import { hasNoJoinOrder, isOutdatedName, isStaleStatement } from './postgres-errors.ts';
import { GRACE_MS, type PostgresPool } from './postgres-pool.ts';
import { areOutdated, type Definitions, joinsInOrder } from './postgres-transaction.ts';

export interface PooledReadsOptions {
  readonly pool: PostgresPool;
  /** Whose reads they are. */
  readonly instanceId: string;
  readonly definitions: Definitions | undefined;
  readonly counts: StorageCounts | undefined;
}

export type Query<Shape> = (connection: PostgresConnection) => Promise<StatementResult<Shape>>;

/** Reads outside of transactions, each on a connection of the pool, so that a slow one holds up no other. */
export class PooledReads {
  readonly #options: PooledReadsOptions;
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: PooledReadsOptions) {
    this.#options = options;
  }

  /**
   * Runs a query, and behind it in the same packet the check that the definitions it was compiled from are current.
   * Another process may have renamed columns or tables and reused their names, and the answer would not show it:
   * hidden values would appear under a visible name, or records under the rules of another collection. Throws OutdatedDefinitions when
   * they are not, after they have been read again.
   */
  async read<Shape>(
    query: Query<Shape>,
    { kind = 'read', timeoutMs, bytesMax, definitionsVersion: version, ...options }: ReadOptions,
  ): Promise<readonly Shape[]> {
    const { definitions, pool, counts, instanceId } = this.#options;
    const { isKeyed = false, isReadOnly = false } = options;
    const guarded: Query<Shape> = isReadOnly
      ? (connection) => connection.between(readOnly, () => query(connection))
      : query;
    const reading = pool.lend(async (connection) => {
      const startMs = systemClock.monotonic();
      connection.limitStatements(timeoutMs);
      connection.planByKeys(isKeyed);
      connection.limitRows(bytesMax);
      const timer = connection.expireAfter(pool.statementTimeoutMs + GRACE_MS);
      const run = (): Promise<StatementResult<Shape>> => this.#runCurrent(connection, guarded, version);
      return await run()
        .catch((error: unknown) => {
          // A table has changed since the statement was prepared.
          if (isStaleStatement(error)) return run();
          if (!hasNoJoinOrder(error)) throw error;
          const inOrder = { before: `SET ${joinsInOrder}`, after: 'RESET join_collapse_limit' };
          return connection.between(inOrder, run);
        })
        .finally(() => {
          clearTimeout(timer);
          connection.limitRows();
          counts?.sqlSeconds[kind].noteMs(systemClock.monotonic() - startMs);
        });
    }, instanceId);
    this.#running.add(reading);
    try {
      return (await reading).rows;
    } catch (error) {
      const isOutdated = error instanceof OutdatedDefinitions || isOutdatedName(error);
      if (definitions === undefined || !isOutdated) throw error;
      await definitions.refresh();
      throw new OutdatedDefinitions(error);
    } finally {
      this.#running.delete(reading);
    }
  }

  async drain(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  async #runCurrent<Shape>(
    connection: PostgresConnection,
    query: Query<Shape>,
    version: SqlValue | undefined,
  ): Promise<StatementResult<Shape>> {
    const { definitions } = this.#options;
    if (definitions === undefined || version === undefined) return query(connection);
    const [answer, outdated] = await Promise.allSettled([
      query(connection),
      areOutdated(connection, definitions, version),
    ]);
    const cause: unknown = answer.status === 'rejected' ? answer.reason : undefined;
    // Checked before errors, as outdated definitions may have caused them.
    if (outdated.status === 'fulfilled' && outdated.value) throw new OutdatedDefinitions(cause);
    if (answer.status === 'rejected') throw answer.reason;
    if (outdated.status === 'rejected') throw outdated.reason;
    return answer.value;
  }
}

const readOnly = { before: 'BEGIN READ ONLY', after: 'COMMIT' } as const;

export interface ReadOptions {
  readonly kind?: StatementKind;
  readonly timeoutMs: number;
  /** The most that the rows may take in memory. */
  readonly bytesMax?: number | undefined;
  /**
   * The version of the definitions in memory when the query was made: they may be refreshed while it waits. Undefined for a query that
   * reads no table of a collection.
   */
  readonly definitionsVersion: SqlValue | undefined;
  /** Whether the query was marked by `foundByKeys`. */
  readonly isKeyed?: boolean;
  /** Whether the server is to refuse everything but reading: the query of a view is a client's. */
  readonly isReadOnly?: boolean;
}
