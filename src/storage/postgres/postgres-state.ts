import { systemClock } from '../../base/clock.ts';
import { sql } from '../../sql/sql.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import type { PostgresPool } from './postgres-pool.ts';
import { endedMax, isSameBut, toSnapshot, type PostgresSnapshot } from './postgres-snapshot.ts';

/** Which transactions are over: the same for as long as none ends that has written anything, in any database of the server. */
const SNAPSHOT = sql`SELECT pg_current_snapshot()`;

/** Then it goes back to the pool, which looks after it. */
const HOLD_MS = 1_000;
/** Nobody waits any longer to be told that he may spare a question. */
const waitMsMax = 250;
/** Where the last so many answers were all other ones, so many reads do without. */
const changesMax = 6;
const passes = 100;

/** A connection, while it is held to be asked. */
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
 * What reads of a PostgreSQL server see, as one object for as long as it is the same. To know it takes a question: as small a one as
 * there is, and one for all who ask at the same time. It goes out after they have asked, so that nobody is told of a state that was
 * over by then. The numbers of transactions may come again after a crash, which no connection outlives: another one tells nothing of
 * what was known by the last (https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SNAPSHOT).
 */
export class PostgresState {
  readonly #pool: Pick<PostgresPool, 'lend'>;
  #session: Session | undefined;
  #isOpening = false;
  /** For those who ask now, behind the one that is not answered yet. */
  #next: Promise<object | undefined> | undefined;
  #running: Promise<unknown> = Promise.resolve();
  /** By whom the state was told, and as what. */
  #teller: PostgresConnection | undefined;
  #snapshot: PostgresSnapshot | undefined;
  #state = {};
  /** Transactions of this process, that were told of since the teller was asked first, on whose rows nothing rests. */
  #ignored = new Set<number>();
  /** When the question went out that was answered last. */
  #askedMs = Number.NEGATIVE_INFINITY;
  #changes = 0;
  #passesLeft = 0;
  #isStopped = false;

  constructor(pool: Pick<PostgresPool, 'lend'>) {
    this.#pool = pool;
  }

  /** At any moment since then, or now. Undefined where it is not known, or changes all the time. Never rejects. */
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

  /** Nothing that is read by states rests on what this transaction writes. To be said before it is committed. */
  ignore(transaction: number): void {
    if (this.#teller === undefined) return;
    this.#ignored.add(transaction);
    if (this.#ignored.size <= endedMax) return;
    // Nobody asks, or so many have ended that whatever is told next is another state.
    this.#teller = undefined;
    this.#ignored.clear();
  }

  /** Gives the connection back. */
  stop(): void {
    this.#isStopped = true;
    this.#session?.end();
  }

  /** Nobody waits for a connection. */
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
    // At the end of this turn: whoever asks in it joins.
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
    // With its answer still to come nobody else is lent it.
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
    // The numbers of another one's time may be those of others now.
    if (connection !== this.#teller) this.#ignored.clear();
    for (const transaction of this.#ignored)
      if (transaction < snapshot.end && !snapshot.running.has(transaction)) this.#ignored.delete(transaction);
    this.#teller = connection;
    this.#snapshot = snapshot;
    if (this.#changes === changesMax) {
      this.#passesLeft = passes;
      // Then two in a row are asked for, or none could be the same again.
      this.#changes -= 2;
    }
    return this.#state;
  }
}

/** Undefined where it has failed, which whoever reads next is told, or takes too long. */
async function readSnapshot(connection: PostgresConnection): Promise<string | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, waitMsMax, undefined);
  const answer = connection.tuples(SNAPSHOT).then(
    ({ rows }) => String(rows[0]?.[0]),
    () => undefined,
  );
  return await Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
