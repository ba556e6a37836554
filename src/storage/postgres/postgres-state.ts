import { systemClock } from '../../base/clock.ts';
import { sql } from '../../sql/sql.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import type { PostgresPool } from './postgres-pool.ts';
import { endedMax, isSameBut, toSnapshot, type PostgresSnapshot } from './postgres-snapshot.ts';

/** The snapshot tells which transactions are over. It stays the same until one that has written ends, in any database of the server. */
const SNAPSHOT = sql`SELECT pg_current_snapshot()`;

/** How long a connection is held before it goes back to the pool, which deallocates its old statements. */
const HOLD_MS = 1_000;
/** The longest wait for a snapshot: it only serves to save a query. */
const waitMsMax = 250;
/** After this many different answers in a row, `passes` reads go without the state. */
const changesMax = 6;
const passes = 100;

/** A connection that is held to ask for snapshots. */
interface Session {
  readonly connection: PostgresConnection;
  readonly end: () => void;
}

interface Told {
  readonly connection: PostgresConnection;
  readonly snapshot: PostgresSnapshot;
  readonly askedMs: number;
}

/**
 * The committed state of a PostgreSQL server, as one object for as long as it is the same. Finding it out takes a query: the cheapest
 * there is, and one for all callers of the same time. It is sent after they have called, so that no caller gets a state that was over
 * by then. Transaction ids may be used again after a crash, which no connection outlives: so snapshots are compared only if they came
 * over the same connection (https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SNAPSHOT).
 */
export class PostgresState {
  readonly #pool: Pick<PostgresPool, 'lend'>;
  #session: Session | undefined;
  #isOpening = false;
  /** The query that callers share now; it is sent once the running one is answered. */
  #next: Promise<object | undefined> | undefined;
  #running: Promise<unknown> = Promise.resolve();
  /** The connection that the last snapshot came over, and that snapshot. */
  #teller: PostgresConnection | undefined;
  #snapshot: PostgresSnapshot | undefined;
  #state = {};
  /** Transactions of this process whose writes are no change of the state, as nothing that is cached by it depends on them. */
  #ignored = new Set<number>();
  /** When the query that was answered last was sent. */
  #askedMs = Number.NEGATIVE_INFINITY;
  #changes = 0;
  #passesLeft = 0;
  #isStopped = false;

  constructor(pool: Pick<PostgresPool, 'lend'>) {
    this.#pool = pool;
  }

  /** Returns the state at a moment after `asOfMs`, or now. Undefined when it is unknown, or changes all the time. Never rejects. */
  since(asOfMs = Number.POSITIVE_INFINITY): object | undefined | Promise<object | undefined> {
    if (this.#isStopped) return undefined;
    if (asOfMs < this.#askedMs) return this.#state;
    if (this.#next !== undefined) return this.#next;
    if (this.#passesLeft > 0) {
      this.#passesLeft -= 1;
      return undefined;
    }
    if (this.#session !== undefined) return (this.#next = this.#ask(this.#session));
    this.#open();
    return undefined;
  }

  /** Makes the state ignore the writes of a transaction. Called before it is committed. */
  ignore(transaction: number): void {
    if (this.#teller === undefined) return;
    this.#ignored.add(transaction);
    if (this.#ignored.size <= endedMax) return;
    // Either nobody asks for the state, or so many transactions have ended that the next snapshot counts as a change anyway.
    this.#teller = undefined;
    this.#ignored.clear();
  }

  /** Gives the connection back. */
  stop(): void {
    this.#isStopped = true;
    this.#session?.end();
  }

  /** Borrows a connection in the background: callers do without the state rather than wait for it. */
  #open(): void {
    if (this.#isOpening) return;
    this.#isOpening = true;
    this.#pool
      .lend((connection) => {
        this.#isOpening = false;
        return this.#hold(connection);
      })
      .catch(() => {
        this.#isOpening = false;
        this.#passesLeft = passes;
      });
  }

  async #hold(connection: PostgresConnection): Promise<void> {
    if (this.#isStopped) return;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#session = { connection, end };
    const timer = setTimeout(end, HOLD_MS);
    await ended;
    clearTimeout(timer);
    this.#session = undefined;
    await this.#running;
  }

  #isSame(connection: PostgresConnection, snapshot: PostgresSnapshot): boolean {
    if (connection !== this.#teller || this.#snapshot === undefined) return false;
    return isSameBut(this.#snapshot, snapshot, this.#ignored);
  }

  async #ask(session: Session): Promise<object | undefined> {
    await this.#running;
    // At the end of this turn, so that all callers of the turn share the query.
    await new Promise(setImmediate);
    this.#next = undefined;
    if (this.#session !== session) return undefined;
    const { connection } = session;
    const askedMs = systemClock.monotonic();
    const asked = readSnapshot(connection);
    this.#running = asked;
    const text = await asked;
    if (text !== undefined) return this.#note({ connection, snapshot: toSnapshot(text), askedMs });
    this.#passesLeft = passes;
    // The pool discards the connection, as its answer is still to come.
    session.end();
    return undefined;
  }

  #note({ connection, snapshot, askedMs }: Told): object {
    this.#askedMs = askedMs;
    if (this.#isSame(connection, snapshot)) this.#changes = 0;
    else {
      this.#state = {};
      this.#changes += 1;
    }
    // After a crash the ids from an earlier connection may belong to other transactions.
    if (connection !== this.#teller) this.#ignored.clear();
    for (const transaction of this.#ignored)
      if (transaction < snapshot.end && !snapshot.running.has(transaction)) this.#ignored.delete(transaction);
    this.#teller = connection;
    this.#snapshot = snapshot;
    if (this.#changes === changesMax) {
      this.#passesLeft = passes;
      // Lets two queries follow the pause: a single one could never find the state unchanged.
      this.#changes -= 2;
    }
    return this.#state;
  }
}

/** Returns undefined when the query fails (then the next read will as well) or takes too long. */
async function readSnapshot(connection: PostgresConnection): Promise<string | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, waitMsMax, undefined);
  const answer = connection.tuples(SNAPSHOT).then(
    ({ rows }) => String(rows[0]?.[0]),
    () => undefined,
  );
  return await Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
