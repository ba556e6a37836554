import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { fromTimestamp } from '../../base/timestamp.ts';
import { backlogMax, readBacklog } from './count-waiting.ts';
import type { WebhookInstance, WebhookInstanceLoan } from '../../endpoints/webhook-instance.ts';

/** How old a count may be before it is read again. */
const freshMs = 5_000;
/** How long one round of reads takes at most; the next one continues with the others. */
const roundMs = 500;

export interface BacklogOptions {
  /** The instances that have something to send, now or later. */
  readonly instances: () => ReadonlySet<string>;
  /** Lends an instance that is open: a count opens none. */
  readonly borrow: (instanceId: string) => WebhookInstanceLoan | undefined;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}

/** The pending deliveries of an instance. */
export interface InstanceBacklog {
  readonly slug: string;
  readonly waiting: number;
  /** The age of the oldest one when that was read; 0 when there is none. */
  readonly ageMs: number;
}

/**
 * The backlogs of the instances that this process delivers for. They are read on request, but not each time, one
 * instance after the other and for a limited time: the count of one instance may be older than that of another.
 */
export class BacklogCounter {
  readonly #options: BacklogOptions;
  /** The least recently read first. */
  readonly #backlogs = new Map<string, InstanceBacklog>();
  /** How often an instance could not be read. */
  failures = 0;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(options: BacklogOptions) {
    this.#options = options;
  }

  /** The last counts, by instance. */
  get backlogs(): ReadonlyMap<string, InstanceBacklog> {
    return this.#backlogs;
  }

  /** Reads counts again that are too old. Never rejects: the count of an instance that cannot be read stays, and the failure is counted. */
  refresh(): Promise<void> {
    if (this.#reading !== undefined) return this.#reading;
    const { clock } = this.#options;
    if (clock.monotonic() < this.#readAtMs + freshMs) return Promise.resolve();
    return (this.#reading = this.#read().finally(() => {
      this.#reading = undefined;
      this.#readAtMs = this.#options.clock.monotonic();
    }));
  }

  async #read(): Promise<void> {
    const ids = this.#options.instances();
    for (const id of this.#backlogs.keys()) if (!ids.has(id)) this.#backlogs.delete(id);
    const endMs = this.#options.clock.monotonic() + roundMs;
    const unread = [...ids].filter((id) => !this.#backlogs.has(id));
    for (const id of [...unread, ...this.#backlogs.keys()]) {
      if (this.#options.clock.monotonic() >= endMs) return;
      const loan = this.#options.borrow(id);
      if (loan === undefined) continue;
      try {
        const read = await readOne(loan.instance);
        this.#backlogs.delete(id);
        this.#backlogs.set(id, read);
      } catch (error) {
        this.failures += 1;
        const message = 'Counting the backlog failed; retrying.';
        this.#options.logger.warn(message, { instance: id, error, delayMs: freshMs });
      } finally {
        loan.release();
      }
    }
  }
}

async function readOne({ database, slug, dueClock }: WebhookInstance): Promise<InstanceBacklog> {
  const { waiting, oldest } = await readBacklog(database);
  const ageMs = oldest === undefined ? 0 : Math.max(0, dueClock.now() - fromTimestamp(oldest));
  // Of each of the two kinds no more are counted.
  return { slug, waiting: Math.min(waiting, 2 * backlogMax), ageMs };
}
