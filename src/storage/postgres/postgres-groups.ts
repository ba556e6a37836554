import { AssertionFailed } from '../../base/assert.ts';
import { busy } from '../../base/errors.ts';
import type { Transaction } from '../database.ts';
import { GroupStatements } from './postgres-group-statements.ts';
import { SharedTransaction } from './shared-transaction.ts';

export interface WriteGroupsOptions {
  /** Runs one work in a transaction of its own. */
  readonly alone: (work: Work<unknown>) => Promise<unknown>;
  /** As `alone`, for a work that stands for many. Rejects with {@link SpoiledGroup} when each of them has to be run alone. */
  readonly together: (work: Work<readonly Outcome[]>) => Promise<readonly Outcome[]>;
  readonly waitingMax: number;
}

type Work<Result> = (tx: Transaction) => Promise<Result>;

type Outcome =
  | { readonly kind: 'kept'; readonly value: unknown; readonly callbacks: readonly (() => void)[] }
  | { readonly kind: 'refused'; readonly error: unknown }
  /** It did not find the row that it was going to change: it is not there, or another transaction has it. */
  | { readonly kind: 'missed' };

interface Waiting {
  readonly work: Work<unknown>;
  /** The key of the row that it looks up to change it. */
  readonly changes: string | undefined;
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
/** Nobody waits any longer for others to come: the group before may be held up by something of its own. */
const fillMsMax = 50;
/** After a spoiled group so many works are run alone: what has spoiled one often comes again. */
const ungroupedAfterSpoiled = 100;

/**
 * Group commit on PostgreSQL, for works that only append, or change one row: those that wait at the same time share one transaction,
 * that is one BEGIN, one lock, one look at the definitions and one COMMIT, and their statements go out in one packet, many of them
 * as one. A row that is refused ends the transaction for all; each is then run again alone, and only the one that is to blame fails.
 *
 * A group does not wait for the lock of the row that one of its works changes: that work leaves it and is run alone. What else may be
 * locked, a related record or a unique value of an open transaction, it waits for a tenth of a second, and is then run one by one.
 * Works that change the same row are never in groups at the same time, or each would write over what the other has written.
 */
export class WriteGroups {
  readonly #options: WriteGroupsOptions;
  readonly #running = new Set<Promise<void>>();
  /** Works that have left their group. */
  readonly #runningAlone = new Set<Promise<void>>();
  /** The rows that running groups change. */
  readonly #changing = new Set<string>();
  #waiting: Waiting[] = [];
  #isScheduled = false;
  #ungroupedLeft = 0;
  /** How many were in the group that was begun last; none when the next has waited long enough for as many. */
  #lastSize = 0;
  #fillTimer: NodeJS.Timeout | undefined;

  constructor(options: WriteGroupsOptions) {
    this.#options = options;
  }

  add<Result>(work: Work<Result>, changes?: string): Promise<Result> {
    if (this.#waiting.length >= this.#options.waitingMax) {
      return Promise.reject(busy());
    }
    return new Promise<Result>((resolve, reject) => {
      // `resolve` is given only what `work` of the same entry returned.
      this.#waiting.push({ work, changes, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Resolves when nothing waits and nothing runs. */
  async drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#running.size > 0 || this.#runningAlone.size > 0) {
      this.#start();
      await Promise.all([...this.#running, ...this.#runningAlone]);
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
    while (this.#running.size < groupsMax && this.#waiting.length > 0) {
      if (this.#isFilling()) return this.#startInTime();
      const group = this.#takeGroup();
      if (group.length === 0) return;
      this.#noteStart(group.length);
      const running = this.#run(group).finally(() => {
        this.#running.delete(running);
        for (const { changes } of group) if (changes !== undefined) this.#changing.delete(changes);
        if (this.#waiting.length > 0) this.#schedule();
      });
      this.#running.add(running);
    }
  }

  /**
   * Whether fewer wait than there are in the group before. What costs the same for each group would be spent on a few of them, whose
   * clients come back together, and again are few.
   */
  #isFilling(): boolean {
    return this.#running.size > 0 && this.#waiting.length < this.#lastSize;
  }

  #noteStart(size: number): void {
    this.#lastSize = size;
    clearTimeout(this.#fillTimer);
    this.#fillTimer = undefined;
  }

  #startInTime(): void {
    this.#fillTimer ??= setTimeout(() => {
      this.#fillTimer = undefined;
      this.#lastSize = 0;
      this.#start();
    }, fillMsMax);
  }

  #takeGroup(): readonly Waiting[] {
    const group: Waiting[] = [];
    this.#waiting = this.#waiting.filter((one) => {
      const { changes } = one;
      if (group.length >= groupMax || (changes !== undefined && this.#changing.has(changes))) return true;
      if (changes !== undefined) this.#changing.add(changes);
      group.push(one);
      return false;
    });
    return group;
  }

  async #run(group: readonly Waiting[]): Promise<void> {
    const isOne = group.length === 1;
    if ((isOne && group[0]?.changes === undefined) || this.#ungroupedLeft > 0) return this.#runAlone(group);
    try {
      const outcomes = await this.#options.together((tx) => runAll(tx, group));
      for (const [index, one] of group.entries()) this.#settle(one, outcomes[index]);
    } catch (error) {
      // Or one that has awaited something else would have taken the others with it.
      const isSpoiled = error instanceof SpoiledGroup || (error instanceof AssertionFailed && !isOne);
      if (!isSpoiled) return group.forEach(({ reject }) => reject(error));
      if (!isOne) this.#ungroupedLeft = ungroupedAfterSpoiled;
      this.#runAlone(group);
    }
  }

  #settle(one: Waiting, outcome: Outcome | undefined): void {
    if (outcome?.kind === 'kept') one.resolve(outcome.value);
    else if (outcome?.kind === 'refused') one.reject(outcome.error);
    else this.#runAlone([one]);
  }

  /** Nobody waits for these: they may have to wait for somebody else's lock, and the next group shall not. */
  #runAlone(group: readonly Waiting[]): void {
    this.#ungroupedLeft = Math.max(0, this.#ungroupedLeft - group.length);
    for (const { work, resolve, reject } of group) {
      const alone = this.#options
        .alone(work)
        .then(resolve, reject)
        .finally(() => this.#runningAlone.delete(alone));
      this.#runningAlone.add(alone);
    }
  }
}

async function runAll(tx: Transaction, group: readonly Waiting[]): Promise<readonly Outcome[]> {
  const statements = new GroupStatements(tx);
  const outcomes = await Promise.all(
    group.map(({ work, changes }) => runOne(new SharedTransaction(tx, { statements, changes }), work)),
  );
  for (const outcome of outcomes)
    if (outcome.kind === 'kept') for (const callback of outcome.callbacks) tx.afterCommit(callback);
  // A work that has swallowed this would be kept without its rows.
  if (statements.failure !== undefined)
    throw new SpoiledGroup('Rows were refused.', { cause: statements.failure });
  return outcomes;
}

/** A work that has written nothing leaves nothing behind. When a statement of its own has failed, the group has failed with it. */
async function runOne(tx: SharedTransaction, work: Work<unknown>): Promise<Outcome> {
  const outcome = await work(tx).then(
    (value): Outcome => ({ kind: 'kept', value, callbacks: tx.callbacks }),
    (error: unknown): Outcome => ({ kind: 'refused', error }),
  );
  if (!tx.hasWritten) return tx.hasMissed ? { kind: 'missed' } : outcome;
  if (outcome.kind === 'kept' && !tx.hasMissed) return outcome;
  const cause = outcome.kind === 'refused' ? outcome.error : undefined;
  throw new SpoiledGroup('A work of the group has failed.', { cause });
}
