import { assert, AssertionFailed } from '../../base/assert.ts';
import { busy } from '../../base/errors.ts';
import type { Sql } from '../../sql/sql.ts';
import {
  type BulkInsert,
  type Names,
  type Row,
  type SearchOptions,
  type Transaction,
  type Tuple,
} from '../database.ts';
import { GroupStatements, keyOf } from './batched-statements.ts';
import type { SearchTime } from './search-time.ts';

export interface WriteGroupsOptions {
  /** Runs one work in a transaction of its own, with the remaining time of its searches. */
  readonly alone: (work: Work<unknown>, searchTime: SearchTime) => Promise<unknown>;
  /**
   * As `alone`, for a work that runs many; `keptCount` returns how many of them its commit keeps. Rejects with {@link SpoiledGroup} when each
   * of them has to be run alone.
   */
  readonly together: (work: GroupWork, keptCount: () => number) => Promise<readonly WorkOutcome[]>;
  readonly waitingMax: number;
}

/** The transaction of a group. */
export interface GroupTransaction extends Transaction {
  /** As `search`, for one of the works, which has a time of its own. */
  searchFor(time: SearchTime, statement: Sql, options?: SearchOptions): Promise<Tuple[]>;
}

type Work<Result> = (tx: Transaction) => Promise<Result>;
type GroupWork = (tx: GroupTransaction) => Promise<readonly WorkOutcome[]>;

type WorkOutcome =
  | { readonly kind: 'kept'; readonly value: unknown; readonly callbacks: readonly (() => void)[] }
  | { readonly kind: 'refused'; readonly error: unknown }
  /** The row that the work was going to change does not exist, or another transaction has locked it. */
  | { readonly kind: 'missed' };

interface GroupedWork {
  /** The key of the row that the work looks up to change it, if there is one. */
  readonly changes?: string | undefined;
  /** What its searches share. */
  readonly searchTime: SearchTime;
}

interface QueuedWork extends GroupedWork {
  readonly work: Work<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A work of the group has failed after it had written something, or has collided; nothing of the group was kept. */
export class SpoiledGroup extends Error {
  override readonly name = 'SpoiledGroup';
}

/** A larger group would make its first member wait for too many others. */
const groupMax = 64;
/** Groups that run at the same time: one is being synced while the next is being written. Works that come meanwhile form a third. */
const groupsMax = 2;
/** The longest that works wait for their group to fill: the group before may be held up by a lock or a slow statement. */
const fillMsMax = 50;
/** How many works are run alone after a spoiled group: the cause often recurs. */
const ungroupedAfterSpoiled = 100;

/**
 * Group commit on PostgreSQL, for works that only append, or change one row. Works that wait at the same time share one transaction:
 * one BEGIN, one lock, one check of the definitions and one COMMIT. Their statements go out in one packet, many combined into one.
 * A refused row fails the transaction for all; each work is then run again alone, and only the one at fault fails.
 *
 * A group does not wait for the row lock of a row that one of its works changes: that work leaves the group and is run alone. For other
 * locks (a related record, a unique value of an open transaction) a group waits a tenth of a second; then its works are run one by one.
 * Works that change the same row are never in running groups at the same time, or one would overwrite the other's change.
 */
export class WriteGroups {
  readonly #options: WriteGroupsOptions;
  readonly #running = new Set<Promise<void>>();
  /** Works that have left their group. */
  readonly #runningAlone = new Set<Promise<void>>();
  /** The rows that running groups change. */
  readonly #changing = new Set<string>();
  #waiting: QueuedWork[] = [];
  #isScheduled = false;
  #ungroupedLeft = 0;
  /** The size of the group that was started last; 0 once the next group has waited for {@link fillMsMax}. */
  #lastSize = 0;
  #fillTimer: NodeJS.Timeout | undefined;

  constructor(options: WriteGroupsOptions) {
    this.#options = options;
  }

  add<Result>(work: Work<Result>, options: GroupedWork): Promise<Result> {
    if (this.#waiting.length >= this.#options.waitingMax) {
      return Promise.reject(busy());
    }
    return new Promise<Result>((resolve, reject) => {
      // `resolve` is called only with what `work` of the same entry returned.
      this.#waiting.push({ ...options, work, resolve: resolve as (value: unknown) => void, reject });
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

  /** Starts a group in the next turn of the event loop, so that works which arrive in this one join it. */
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
   * True when a group is running and fewer works wait than it has. A small group would cost as much as a large one, and stay small:
   * its clients are answered, and send their next requests, together.
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

  #takeGroup(): readonly QueuedWork[] {
    const group: QueuedWork[] = [];
    this.#waiting = this.#waiting.filter((one) => {
      const { changes } = one;
      if (group.length >= groupMax || (changes !== undefined && this.#changing.has(changes))) return true;
      if (changes !== undefined) this.#changing.add(changes);
      group.push(one);
      return false;
    });
    return group;
  }

  async #run(group: readonly QueuedWork[]): Promise<void> {
    const isOne = group.length === 1;
    if ((isOne && group[0]?.changes === undefined) || this.#ungroupedLeft > 0) return this.#runAlone(group);
    try {
      let outcomes: readonly WorkOutcome[] = [];
      const work: GroupWork = async (tx) => (outcomes = await runAll(tx, group));
      const keptCount = (): number => outcomes.filter(({ kind }) => kind === 'kept').length;
      outcomes = await this.#options.together(work, keptCount);
      for (const [index, one] of group.entries()) this.#settle(one, outcomes[index]);
    } catch (error) {
      // AssertionFailed: a work that awaited something else than its tx must not fail the others of its group.
      const isSpoiled = error instanceof SpoiledGroup || (error instanceof AssertionFailed && !isOne);
      if (!isSpoiled) return group.forEach(({ reject }) => reject(error));
      if (!isOne) this.#ungroupedLeft = ungroupedAfterSpoiled;
      this.#runAlone(group);
    }
  }

  #settle(one: QueuedWork, outcome: WorkOutcome | undefined): void {
    if (outcome?.kind === 'kept') one.resolve(outcome.value);
    else if (outcome?.kind === 'refused') one.reject(outcome.error);
    else this.#runAlone([one]);
  }

  /** Does not hold up the next group, because these works may have to wait for locks of other transactions. */
  #runAlone(group: readonly QueuedWork[]): void {
    this.#ungroupedLeft = Math.max(0, this.#ungroupedLeft - group.length);
    for (const { work, searchTime, resolve, reject } of group) {
      const alone = this.#options
        .alone(work, searchTime)
        .then(resolve, reject)
        .finally(() => this.#runningAlone.delete(alone));
      this.#runningAlone.add(alone);
    }
  }
}

async function runAll(tx: GroupTransaction, group: readonly QueuedWork[]): Promise<readonly WorkOutcome[]> {
  const statements = new GroupStatements(tx);
  const outcomes = await Promise.all(
    group.map(({ work, ...grouped }) => runOne(new SharedTransaction(tx, statements, grouped), work)),
  );
  for (const outcome of outcomes)
    if (outcome.kind === 'kept') for (const callback of outcome.callbacks) tx.afterCommit(callback);
  // A work that has swallowed the error would be committed without its rows.
  if (statements.failure !== undefined)
    throw new SpoiledGroup('Rows were refused.', { cause: statements.failure });
  return outcomes;
}

/** Runs one work of a group. A work that fails before it has written anything leaves the group intact; one that fails later spoils it. */
async function runOne(tx: SharedTransaction, work: Work<unknown>): Promise<WorkOutcome> {
  const outcome = await work(tx).then(
    (value): WorkOutcome => ({ kind: 'kept', value, callbacks: tx.callbacks }),
    (error: unknown): WorkOutcome => ({ kind: 'refused', error }),
  );
  if (!tx.hasWritten) return tx.hasMissed ? { kind: 'missed' } : outcome;
  if (outcome.kind === 'kept' && !tx.hasMissed) return outcome;
  const cause = outcome.kind === 'refused' ? outcome.error : undefined;
  throw new SpoiledGroup('A work of the group has failed.', { cause });
}

/** The row that a work was going to change does not exist, or another transaction has locked it. */
class Missed extends Error {
  override readonly name = 'Missed';
}

/** The `tx` of one work of a group. */
class SharedTransaction implements Transaction {
  readonly isTransaction = true;
  readonly callbacks: (() => void)[] = [];
  hasWritten = false;
  /** Whether the lookup of the row to change has failed: the row does not exist or is locked. */
  hasMissed = false;
  readonly #tx: GroupTransaction;
  readonly #statements: GroupStatements;
  readonly #changes: string | undefined;
  readonly #searchTime: SearchTime;

  constructor(tx: GroupTransaction, statements: GroupStatements, { changes, searchTime }: GroupedWork) {
    this.#tx = tx;
    this.#statements = statements;
    this.#changes = changes;
    this.#searchTime = searchTime;
  }

  get names(): Names {
    return this.#tx.names;
  }

  all(statement: Sql): Promise<Row[]> {
    return this.#statements.single(this, statement, () => this.#tx.all(statement));
  }

  get(statement: Sql): Promise<Row | undefined> {
    return this.#statements.single(this, statement, () => this.#tx.get(statement));
  }

  async search(statement: Sql, options?: SearchOptions): Promise<Tuple[]> {
    const search = (): Promise<Tuple[]> => this.#tx.searchFor(this.#searchTime, statement, options);
    return this.#statements.single(this, statement, search);
  }

  async tuples(statement: Sql): Promise<Tuple[]> {
    if (statement.form?.kind === 'lock') return this.#lookUpToChange(statement);
    return this.#statements.single(this, statement, () => this.#tx.tuples(statement));
  }

  async run(statement: Sql): Promise<number> {
    // A change is sent as an INSERT … ON CONFLICT, which would insert a row that was not locked and may be gone.
    if (statement.form?.kind === 'change')
      assert(keyOf(statement) === this.#changes, 'a work changes the row that it has named');
    this.hasWritten = true;
    if (statement.form?.kind === 'insert') {
      await this.#statements.insert(this, statement);
      return 1;
    }
    if (statement.form?.kind === 'change') {
      await this.#statements.change(this, statement);
      return 1;
    }
    return this.#statements.single(this, statement, () => this.#tx.run(statement));
  }

  returning(statement: Sql): Promise<Tuple[]> {
    this.hasWritten = true;
    return this.#statements.single(this, statement, () => this.#tx.returning(statement));
  }

  insertRows(into: Sql, rows: readonly Tuple[]): Promise<void> {
    this.hasWritten = true;
    return this.#statements.single(this, into, () => this.#tx.insertRows(into, rows));
  }

  inOrder(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
    return this.#tx.inOrder(steps);
  }

  insertLater<Item>(bulkInsert: BulkInsert<Item>, row: Item): Promise<void> {
    this.hasWritten = true;
    return this.#statements.insertLater(bulkInsert, row);
  }

  /** Other works of the group would wait. */
  async pause(): Promise<void> {}

  afterCommit(callback: () => void): void {
    this.callbacks.push(callback);
  }

  async #lookUpToChange(statement: Sql): Promise<Tuple[]> {
    // Any other row might also be changed by another work of the group, and neither would wait for the other.
    assert(statement.values[0] === this.#changes, 'a work changes the row that it has named');
    const rows = await this.#statements.lookUpToChange(this, statement);
    if (rows.length > 0) return [...rows];
    this.hasMissed = true;
    // It is run again alone, whatever it does now.
    throw new Missed();
  }
}
