/**
 * Handles each webhook once. Chancery delivers at least once: the same `webhook-id` comes again when an answer was lost, and whenever
 * somebody replays the event. An id counts as handled only when the work for it has ended well. If it were noted before, a webhook
 * whose work failed would be taken for a duplicate at the next attempt, and be lost.
 */

/** What a store knows of a webhook: nothing, that its work is going on, or that it was handled. */
export type Seen = 'new' | 'in progress' | 'handled';

/** Where handled webhooks are remembered. With several processes or restarts, use one over your database. */
export interface SeenStore {
  /**
   * Says whether a webhook was handled. If it is `new`, the caller has thereby begun with it, and others hear `in progress` until
   * `settle` or `release`. This must be one atomic step, and in a store that outlives the process it must lapse after a while.
   */
  seen(webhookId: string): Seen | Promise<Seen>;
  /** The work has ended well. */
  settle(webhookId: string): void | Promise<void>;
  /** The work has failed: the next attempt begins again. */
  release(webhookId: string): void | Promise<void>;
}

export interface MemorySeenOptions {
  /** How many handled ids are remembered; the oldest are forgotten first. 10,000 by default: about a megabyte. */
  readonly idsMax?: number;
}

const idsMaxDefault = 10_000;

/** Remembers webhooks in this process, until it ends. */
export class MemorySeen implements SeenStore {
  readonly #idsMax: number;
  /** Those whose work is going on; as many as requests are open. */
  readonly #inProgress = new Set<string>();
  /** Oldest first, because a Set keeps the order of insertion. */
  readonly #handled = new Set<string>();

  constructor({ idsMax = idsMaxDefault }: MemorySeenOptions = {}) {
    if (!Number.isSafeInteger(idsMax) || idsMax < 1)
      throw new RangeError('idsMax must be a positive integer');
    this.#idsMax = idsMax;
  }

  seen(webhookId: string): Seen {
    if (this.#handled.has(webhookId)) return 'handled';
    if (this.#inProgress.has(webhookId)) return 'in progress';
    this.#inProgress.add(webhookId);
    return 'new';
  }

  settle(webhookId: string): void {
    this.#inProgress.delete(webhookId);
    this.#handled.add(webhookId);
    if (this.#handled.size <= this.#idsMax) return;
    for (const oldest of this.#handled) {
      this.#handled.delete(oldest);
      return;
    }
  }

  release(webhookId: string): void {
    this.#inProgress.delete(webhookId);
  }
}

/**
 * Does the work unless the webhook was handled before. Returns what the store knew of it: `new` means that the work was done now.
 * Answer `in progress` with an error, so that the webhook comes again should the work that is going on fail.
 */
export async function handleOnce(store: SeenStore, webhookId: string, work: () => unknown): Promise<Seen> {
  const seen = await store.seen(webhookId);
  if (seen !== 'new') return seen;
  try {
    await work();
  } catch (error) {
    await store.release(webhookId);
    throw error;
  }
  await store.settle(webhookId);
  return seen;
}
