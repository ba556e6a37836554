import { AssertionFailed } from '../../base/assert.ts';
import { callBack, type Transaction } from '../database.ts';
import type { StorageCounts } from '../storage-counts.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import type { SqliteTransaction } from './sqlite-transaction.ts';
import type { WriteSearches } from './write-searches.ts';
import type { WriterThread } from './writer-thread.ts';

export interface WriteQueueOptions {
  /** How long a group begins works where a sync takes less, in milliseconds. */
  readonly groupMs?: number;
  readonly open: () => SqliteConnection;
  /** The budget of the searches in works. */
  readonly searches: WriteSearches;
  /** Called when the writer is about to reopen its file after the medium failed; readers must do the same. */
  readonly onReopen: () => Promise<void>;
  /** Called before a group and when it is on the disk: a reader's view of the file must end there. */
  readonly endView: () => void;
  /** Called before COMMIT: until `endView`, readers must see the state before the commit, which is not on the disk yet. */
  readonly holdView: () => void;
  /** Called in each group before its works: true when another process has changed the definitions that they would use. */
  readonly isOutdated?: (writer: SqliteConnection) => boolean;
  /** Called outside a transaction when `isOutdated` was true. May await nothing but reads. */
  readonly refresh?: () => Promise<void>;
  readonly counts?: StorageCounts | undefined;
  /** Called with the error of a failed group or work. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
}

/** A work that waits for its group. */
export interface QueuedWork {
  readonly work: (tx: Transaction) => Promise<unknown>;
  readonly isExclusive: boolean;
  /** Runs the statements of an exclusive work that takes long. */
  readonly thread: WriterThread | undefined;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export type WorkResult =
  | { readonly kind: 'kept'; readonly value: unknown; readonly callbacks: readonly (() => void)[] }
  | { readonly kind: 'rolled_back'; readonly error: unknown };

/** The outcomes of the works that a group has begun, and the callbacks after the commit for rows of several works. */
export interface GroupRun {
  readonly outcomes: readonly WorkResult[];
  readonly callbacks: readonly (() => void)[];
}

/** When the COMMIT began, by the monotonic clock. */
export type CommittedRun = GroupRun & { readonly committedFromMs: number };

/** Runs a work and flushes its rows, so that a savepoint covers both. */
export async function runWhole(
  tx: SqliteTransaction,
  work: (tx: SqliteTransaction) => Promise<unknown>,
): Promise<unknown> {
  const value = await work(tx);
  await tx.flushRows();
  return value;
}

/** Answers those whose works were begun, after the callbacks of all works that were kept. */
export function settle(group: readonly QueuedWork[], { outcomes, callbacks }: GroupRun): void {
  const workCallbacks = outcomes.flatMap((outcome) => (outcome.kind === 'kept' ? outcome.callbacks : []));
  for (const callback of [...workCallbacks, ...callbacks]) callBack(callback);
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.kind === 'kept') group[index]?.resolve(outcome.value);
    else group[index]?.reject(outcome.error);
  }
}

/**
 * Everything that a work may await is answered in microtasks, so a group is over before the event loop turns. If the loop turns
 * nevertheless, the running work has awaited something else, and is failed: others must not wait for it with the file locked.
 */
export function watchForeignAwaits(fail: (error: Error) => void): { stop(): void } {
  let immediate = setImmediate(onTurn);
  function onTurn(): void {
    fail(new AssertionFailed('a transaction awaited something else than its tx'));
    immediate = setImmediate(onTurn);
  }
  return { stop: () => clearImmediate(immediate) };
}
