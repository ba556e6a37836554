import { AppError } from '../base/errors.ts';
import type { Sql } from '../sql/sql.ts';
import type { Names, Row, Transaction, Tuple } from './database.ts';

export interface WriteGroupsOptions {
  /** Runs one work in a transaction of its own. */
  readonly alone: (work: Work<unknown>) => Promise<unknown>;
  /** As `alone`, for a work that stands for many. Rejects with {@link SpoiledGroup} when each of them has to be run alone. */
  readonly together: (work: Work<readonly Outcome[]>) => Promise<readonly Outcome[]>;
  readonly waitingMax: number;
}

type Work<Result> = (tx: Transaction) => Promise<Result>;

type Outcome =
  { readonly kind: 'kept'; readonly value: unknown } | { readonly kind: 'refused'; readonly error: unknown };

interface Waiting {
  readonly work: Work<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** One of the works has failed after it had written something, or has collided; nothing of the group was kept. */
export class SpoiledGroup extends Error {
  override readonly name = 'SpoiledGroup';
}

/** A larger one would make its first member wait for too many others. */
const groupMax = 64;
/** While one is being synced the next is being written; what comes meanwhile waits, and makes the next group larger. */
const groupsMax = 2;
/** After a spoiled group so many works are run alone: what has spoiled one often comes again. */
const aloneAfterSpoiled = 100;

/**
 * Group commit on PostgreSQL, for works that only append: those that wait at the same time share one transaction, that is one
 * BEGIN, one lock, one look at the definitions and one COMMIT, and their statements go out in one packet. A row that is refused
 * ends the transaction for all; each is then run again alone, and only the one that is to blame fails.
 */
export class WriteGroups {
  readonly #options: WriteGroupsOptions;
  readonly #running = new Set<Promise<void>>();
  #waiting: Waiting[] = [];
  #isScheduled = false;
  #aloneLeft = 0;

  constructor(options: WriteGroupsOptions) {
    this.#options = options;
  }

  add<Result>(work: Work<Result>): Promise<Result> {
    if (this.#waiting.length >= this.#options.waitingMax) {
      const error = new AppError('unavailable', 'The service is busy, try again.', { retryAfter: 1 });
      return Promise.reject(error);
    }
    return new Promise<Result>((resolve, reject) => {
      // `resolve` is given only what `work` of the same entry returned.
      this.#waiting.push({ work, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Resolves when nothing waits and nothing runs. */
  async drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#running.size > 0) {
      this.#start();
      await Promise.all(this.#running);
    }
  }

  /** In the next turn: what arrives in this one joins. */
  #schedule(): void {
    if (this.#isScheduled || this.#running.size >= groupsMax) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#start();
    });
  }

  #start(): void {
    while (this.#waiting.length > 0 && this.#running.size < groupsMax) {
      const group = this.#waiting.splice(0, groupMax);
      const running = this.#run(group).finally(() => {
        this.#running.delete(running);
        if (this.#waiting.length > 0) this.#schedule();
      });
      this.#running.add(running);
    }
  }

  async #run(group: readonly Waiting[]): Promise<void> {
    if (group.length === 1 || this.#aloneLeft > 0) return this.#runAlone(group);
    try {
      const outcomes = await this.#options.together((tx) => runAll(tx, group));
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome.kind === 'kept') group[index]?.resolve(outcome.value);
        else group[index]?.reject(outcome.error);
      }
    } catch (error) {
      if (!(error instanceof SpoiledGroup)) return group.forEach(({ reject }) => reject(error));
      this.#aloneLeft = aloneAfterSpoiled;
      await this.#runAlone(group);
    }
  }

  async #runAlone(group: readonly Waiting[]): Promise<void> {
    this.#aloneLeft = Math.max(0, this.#aloneLeft - group.length);
    await Promise.all(
      group.map(({ work, resolve, reject }) => this.#options.alone(work).then(resolve, reject)),
    );
  }
}

function runAll(tx: Transaction, group: readonly Waiting[]): Promise<readonly Outcome[]> {
  return Promise.all(group.map(({ work }) => runOne(new SharedTransaction(tx), work)));
}

/** A work that has written nothing leaves nothing behind. When a statement of its own has failed, the group has failed with it. */
async function runOne(tx: SharedTransaction, work: Work<unknown>): Promise<Outcome> {
  try {
    return { kind: 'kept', value: await work(tx) };
  } catch (error) {
    if (tx.hasWritten) throw new SpoiledGroup('A work of the group has failed.', { cause: error });
    return { kind: 'refused', error };
  }
}

/** What one work of a group sees. */
class SharedTransaction implements Transaction {
  readonly isTransaction = true;
  hasWritten = false;
  readonly #tx: Transaction;

  constructor(tx: Transaction) {
    this.#tx = tx;
  }

  get names(): Names {
    return this.#tx.names;
  }

  all(statement: Sql): Promise<Row[]> {
    return this.#noting(statement).all(statement);
  }

  get(statement: Sql): Promise<Row | undefined> {
    return this.#noting(statement).get(statement);
  }

  search(statement: Sql): Promise<Tuple[]> {
    return this.tuples(statement);
  }

  tuples(statement: Sql): Promise<Tuple[]> {
    return this.#noting(statement).tuples(statement);
  }

  run(statement: Sql): Promise<number> {
    return this.#noting(statement).run(statement);
  }

  insertWith(first: Sql, following: (position: Sql) => readonly Sql[]): Promise<void> {
    return this.#noting(first).insertWith(first, following);
  }

  inOrder(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
    return this.#tx.inOrder(steps);
  }

  afterCommit(callback: () => void): void {
    this.#tx.afterCommit(callback);
  }

  /** INSERT … RETURNING is asked like a question. */
  #noting(statement: Sql): Transaction {
    if (!READS.test(statement.text)) this.hasWritten = true;
    return this.#tx;
  }
}

const READS = /^\s*SELECT\b/;
