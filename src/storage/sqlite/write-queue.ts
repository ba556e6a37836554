import { assert } from '../../base/assert.ts';
import { systemClock } from '../../base/clock.ts';
import { busy, stopping } from '../../base/errors.ts';
import { sql } from '../../sql/sql.ts';
import type { Transaction, WriteOptions } from '../database.ts';
import { asCertain, EngineFailure, toEngineError } from '../engine-errors.ts';
import { BulkInserts } from '../bulk-inserts.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { settleLong } from './settle-long.ts';
import { SqliteTransaction, type SqliteWriter } from './sqlite-transaction.ts';
import {
  type CommittedRun,
  type GroupRun,
  type WorkResult,
  runWhole,
  settle,
  type QueuedWork,
  watchForeignAwaits,
  type WriteQueueOptions,
} from './write-group.ts';
import type { WriterThread } from './writer-thread.ts';

/**
 * Group commit. Works that arrive in one turn of the event loop share one transaction and are answered after the one
 * synced COMMIT:
 *
 *   BEGIN IMMEDIATE · work · work · … · COMMIT · sync of the log · answers
 *
 * COMMIT writes the log, which is synced then. On a slow disk, a thread of libuv's pool does that, so that this thread can answer reads
 * meanwhile (decision 18). Until the sync is over, readers see the state before the group, and no other group begins: whatever arrives
 * meanwhile forms the next one. So the slower the disk, the larger the groups. Clients that were just answered send their next requests a few turns
 * later. Without waiting for them, the clients would split into two groups that take turns. So a group waits while every turn brings more
 * works, until it is as large as the one before or has waited as long as that one took (decision 14). Nothing but works delays a group.
 * Works of a group that has run for 5 ms, or for as long as the last sync took, wait for the next one: between two groups this thread
 * serves everybody else.
 *
 * A work that fails before it has written anything leaves nothing to undo, and nearly all failures are of this kind. When a work
 * fails later, the group is rolled back and run again with a SAVEPOINT around each work. Savepoints are not used from the start, as
 * they cost a third of an insert: every page that a work touches is copied first. So a work may run twice, and may have side effects
 * only through its `tx`.
 *
 * A work that alters tables may take seconds for a single statement. It is a group by itself, and its transaction is that of a connection
 * in another thread: this thread serves everybody else meanwhile, and readers see the state before (decision 31).
 */

/** A larger group would make its first member wait for too many others. */
const groupMax = 512;

/**
 * How long a group begins works, unless a sync of the disk takes longer. All instances share this thread: so one that is flooded with writes
 * makes another wait for so long, and for the one work that may take as long as the query timeout.
 */
const groupMsDefault = 5;

/** Works beyond this many waiting ones are refused at once. */
const waitingMax = 10_000;

/** After a group had to be run again, this many groups use savepoints from the start: the cause often recurs. */
const guardedGroups = 100;

const BEGIN = sql`BEGIN IMMEDIATE`;
const COMMIT = sql`COMMIT`;
const ROLLBACK = sql`ROLLBACK`;
const SAVEPOINT = sql`SAVEPOINT work`;
const RELEASE = sql`RELEASE work`;
const ROLLBACK_TO = sql`ROLLBACK TO work`;

type Work = (tx: SqliteTransaction) => Promise<unknown>;

export class WriteQueue {
  readonly #options: WriteQueueOptions;
  readonly #bulkInserts = new BulkInserts();
  #connection: SqliteConnection;
  #waiting: QueuedWork[] = [];
  #isBroken = false;
  /**
   * The sync of the last commit, until it has succeeded. If it failed, the log on disk may lack that commit: after a power cut it would
   * end there, and all later commits would be lost.
   */
  #sync: Promise<void> | undefined;
  /** Resolves when the commit of another thread has been settled here; undefined while none commits. */
  #longCommit: Promise<void> | undefined;
  #guardedLeft = 0;
  /** Whether a work of this group has written something. */
  #hasWritten = false;
  /** Whether the COMMIT of this group has begun: before it, a group that fails has certainly left nothing. */
  #isCommitting = false;
  /** How long the last sync of the disk took. */
  #syncMs = 0;
  /** The size and duration of the group before. */
  #last = { works: 0, tookMs: 0 };
  #isClosed = false;
  #running: Promise<void> | undefined;
  #onForeignAwait: ((error: Error) => void) | undefined;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
    this.#connection = options.open();
  }

  /** `thread` is for an exclusive work that takes long, and has the file open. */
  add<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options: WriteOptions & { readonly thread?: WriterThread },
  ): Promise<Result> {
    if (this.#isClosed) return Promise.reject(stopping());
    if (this.#waiting.length >= waitingMax) {
      return Promise.reject(busy());
    }
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({
        work,
        isExclusive: options.isExclusive ?? false,
        thread: options.thread,
        // The queue hands back to `resolve` only what `work` of the same entry returned.
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      this.#running ??= this.#nextTurn();
    });
  }

  /** Resolves when nothing waits and nothing runs. */
  async drain(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /**
   * Resolves when all that is committed now is on the disk, and readers see it. Rejects with the error of a sync that failed, until the
   * file was opened again.
   */
  get synced(): Promise<void> | undefined {
    return this.#longCommit?.then(() => this.#sync) ?? this.#sync;
  }

  get logBytes(): number {
    return this.#connection.logBytes;
  }

  /** Copies the log into the file, or folds it, unless a group is being committed. */
  copyLog(how: 'copyLog' | 'foldLog' = 'copyLog'): void {
    if (!this.#isBroken && this.#sync === undefined && !this.#connection.isInTransaction)
      this.#connection[how]();
  }

  close(): void {
    assert(this.#running === undefined, 'a queue is closed after it was drained');
    this.#isClosed = true;
    this.#connection.close();
  }

  #nextTurn(): Promise<void> {
    const startMs = systemClock.monotonic();
    let lengthBefore = 0;
    return new Promise((done) => {
      const turn = (): void => {
        if (this.#isFilling(lengthBefore, startMs)) {
          lengthBefore = this.#waiting.length;
          setImmediate(turn);
          return;
        }
        void this.#runGroup().finally(() => {
          this.#running = this.#waiting.length > 0 ? this.#nextTurn() : undefined;
          done();
        });
      };
      setImmediate(turn);
    });
  }

  /** True when this turn has added works since `lengthBefore`, and the group is still smaller and younger than the one before. */
  #isFilling(lengthBefore: number, startMs: number): boolean {
    const { length } = this.#waiting;
    const { works, tookMs } = this.#last;
    return length > lengthBefore && length < works && systemClock.monotonic() - startMs < tookMs;
  }

  async #runGroup(): Promise<void> {
    const group = this.#takeGroup();
    this.#isCommitting = false;
    const startMs = systemClock.monotonic();
    const settled = Promise.withResolvers<void>();
    const [first] = group;
    const thread = first?.thread;
    try {
      await this.#reopenIfBroken();
      this.#options.endView();
      const run = await (first !== undefined && thread !== undefined
        ? this.#commitLong(first, thread, settled.promise)
        : this.#commitGroup(group));
      // Those that this group has not begun are the first of the next one.
      this.#waiting.unshift(...group.splice(run.outcomes.length));
      if (this.#isToSync) {
        const syncedFromMs = systemClock.monotonic();
        this.#sync = (thread ?? this.#connection).syncLog();
        // Who waits for the sync as well goes on only after what follows: it finds readers and memory as they are after the group.
        await this.#sync;
        this.#sync = undefined;
        // The duration of a thread's work does not predict that of a group in this thread.
        if (thread === undefined) this.#syncMs = systemClock.monotonic() - syncedFromMs;
      }
      this.#options.endView();
      if (this.#hasWritten) this.#noteCommit(run);
      settle(group, run);
      settled.resolve();
      if (this.#hasWritten) await (thread ?? this.#connection).copyLongLog();
    } catch (thrown) {
      await thread?.stop();
      const error = this.#isCommitting ? thrown : asCertain(thrown);
      this.#options.onFailure?.(error);
      this.#abandon(error);
      for (const waiting of group) waiting.reject(error);
    } finally {
      this.#longCommit = undefined;
      settled.resolve();
      this.#last = {
        works: group.length,
        tookMs: thread === undefined ? systemClock.monotonic() - startMs : 0,
      };
    }
  }

  /**
   * Runs and commits a work in another thread. Throws when it is lost, or when it is unknown whether it is. `settled` resolves when the commit
   * is on the disk and shown here.
   */
  async #commitLong(
    { work }: QueuedWork,
    thread: WriterThread,
    settled: Promise<void>,
  ): Promise<CommittedRun> {
    await this.#begin(thread);
    const startMs = systemClock.monotonic();
    const tx = new SqliteTransaction(thread, this.#bulkInserts);
    let committedFromMs = startMs;
    try {
      const value = await settleLong(thread, () => runWhole(tx, work));
      this.#hasWritten = tx.hasWritten;
      if (this.#isToSync) this.#options.holdView();
      committedFromMs = systemClock.monotonic();
      this.#options.counts?.sqlSeconds.write.noteMs(committedFromMs - startMs);
      this.#longCommit = settled;
      this.#isCommitting = true;
      await thread.commit(COMMIT);
      return { outcomes: [{ kind: 'kept', value, callbacks: tx.callbacks }], callbacks: [], committedFromMs };
    } catch (error) {
      if (error instanceof EngineFailure || this.#longCommit !== undefined) throw error;
      this.#hasWritten = false;
      this.#options.onFailure?.(error);
      // Rolls back. A full disk may have ended the transaction already.
      await thread.stop();
      return { outcomes: [{ kind: 'rolled_back', error }], callbacks: [], committedFromMs };
    } finally {
      tx.end();
    }
  }

  #noteCommit({ outcomes, committedFromMs }: CommittedRun): void {
    const works = outcomes.filter(({ kind }) => kind === 'kept').length;
    this.#options.counts?.noteCommit(works, systemClock.monotonic() - committedFromMs);
  }

  /** Whether the commit of this group is to be on the disk before anybody sees it. */
  get #isToSync(): boolean {
    return this.#hasWritten && this.#connection.isFullySynced;
  }

  /** Throws when nothing of the group was kept, or when it is unknown what was. */
  async #commitGroup(group: readonly QueuedWork[]): Promise<CommittedRun> {
    const watch = watchForeignAwaits((error) => this.#onForeignAwait?.(error));
    const startMs = systemClock.monotonic();
    try {
      let run: GroupRun | undefined;
      if (this.#guardedLeft === 0) run = await this.#runWorks(group, false);
      else this.#guardedLeft -= 1;
      if (run === undefined) {
        if (this.#connection.isInTransaction) this.#connection.run(ROLLBACK);
        run = await this.#runWorks(group, true);
      }
      assert(run !== undefined, 'a work with a savepoint cannot spoil the others');
      if (this.#isToSync) this.#options.holdView();
      const committedFromMs = systemClock.monotonic();
      this.#options.counts?.sqlSeconds.write.noteMs(committedFromMs - startMs);
      this.#isCommitting = true;
      this.#connection.run(COMMIT);
      return { ...run, committedFromMs };
    } finally {
      watch.stop();
    }
  }

  /** Returns undefined when, without savepoints, a work failed that had already written: the group has to be run again. */
  async #runWorks(group: readonly QueuedWork[], isGuarded: boolean): Promise<GroupRun | undefined> {
    await this.#begin(this.#connection);
    const outcomes: WorkResult[] = [];
    const groupMs = Math.max(this.#options.groupMs ?? groupMsDefault, this.#syncMs);
    const startMs = systemClock.monotonic();
    for (const waiting of group) {
      if (outcomes.length > 0 && systemClock.monotonic() - startMs > groupMs) break;
      const outcome = await this.#runWork(waiting.work, isGuarded);
      if (outcome === undefined) return this.#spoiled();
      outcomes.push(outcome);
    }
    // Guarded works have flushed their rows, each within its savepoint.
    if (this.#bulkInserts.isEmpty) return { outcomes, callbacks: [] };
    const written = await this.#runWork((tx) => tx.flushRows(), false);
    return written?.kind === 'kept' ? { outcomes, callbacks: written.callbacks } : this.#spoiled();
  }

  #spoiled(): undefined {
    this.#guardedLeft = guardedGroups;
    return undefined;
  }

  async #begin(writer: SqliteWriter): Promise<void> {
    this.#bulkInserts.clear();
    this.#hasWritten = false;
    await writer.run(BEGIN);
    // No other connection can commit from now on, so that this connection sees what the transaction sees, even if that is another one's.
    while (this.#options.isOutdated?.(this.#connection) === true) {
      await writer.run(ROLLBACK);
      // A view that began in this turn may be too old to see the change.
      this.#options.endView();
      await this.#options.refresh?.();
      await writer.run(BEGIN);
    }
  }

  #takeGroup(): QueuedWork[] {
    const exclusiveAt = this.#waiting.findIndex((waiting) => waiting.isExclusive);
    const shared = exclusiveAt === -1 ? this.#waiting.length : exclusiveAt;
    return this.#waiting.splice(0, Math.min(groupMax, Math.max(1, shared)));
  }

  /** Returns undefined when the work failed after it had written and there is no savepoint. Throws only when the whole group is lost. */
  async #runWork(work: Work, isGuarded: boolean): Promise<WorkResult | undefined> {
    const connection = this.#connection;
    if (isGuarded) connection.run(SAVEPOINT);
    const tx = new SqliteTransaction(connection, this.#bulkInserts, this.#options.searches);
    try {
      const value = await new Promise((resolve, reject) => {
        this.#onForeignAwait = reject;
        (isGuarded ? runWhole(tx, work) : work(tx)).then(resolve, reject);
      });
      // A work that swallowed this error would be committed without its rows, and other works without theirs.
      if (this.#bulkInserts.failure !== undefined) throw this.#bulkInserts.failure;
      if (isGuarded) connection.run(RELEASE);
      return { kind: 'kept', value, callbacks: tx.callbacks };
    } catch (thrown) {
      const error = toEngineError(thrown);
      // A full disk or a failed write may have ended the transaction of the whole group.
      if (error instanceof EngineFailure || !connection.isInTransaction) throw error;
      this.#options.onFailure?.(error);
      if (isGuarded) {
        connection.run(ROLLBACK_TO);
        connection.run(RELEASE);
        this.#bulkInserts.clear();
      }
      return isGuarded || !tx.hasWritten ? { kind: 'rolled_back', error } : undefined;
    } finally {
      this.#hasWritten ||= tx.hasWritten;
      tx.end();
    }
  }

  /**
   * Cleans up after a failed COMMIT or sync, or a lost transaction: nothing is retried, and after a failed medium the file is reopened.
   * Until then, readers keep to the last state that is on the disk.
   */
  #abandon(error: unknown): void {
    if (error instanceof EngineFailure) this.#isBroken = true;
    try {
      if (this.#connection.isInTransaction) this.#connection.run(ROLLBACK);
    } catch {
      this.#isBroken = true;
    }
    if (this.#sync === undefined) this.#options.endView();
  }

  async #reopenIfBroken(): Promise<void> {
    if (!this.#isBroken) return;
    try {
      this.#connection.close();
    } catch {
      // A broken connection may fail to close, or was closed by an earlier try; a new one is needed in any case.
    }
    // Readers first: unlike the writer they do not create a missing file, which would hide that acknowledged data is gone.
    await this.#options.onReopen();
    this.#connection = this.#options.open();
    // The pages that the log on disk lacks are still in the system's memory: copying the log into the file saves them. A COMMIT that
    // failed needs no such care, as the next one overwrites it.
    if (this.#sync !== undefined) this.#connection.emptyLog();
    this.#sync = undefined;
    this.#isBroken = false;
  }
}
