import type { Clock } from '../base/clock.ts';
import type { Share } from '../base/fair-line.ts';
import { FairQueue } from '../base/fair-queue.ts';
import { busy } from '../base/errors.ts';

export const turnLimits = {
  /** Requests of an instance that run at once while others are used too. */
  runningOfInstanceMax: 20,
  waitingOfInstanceMax: 200,
  waitMsMax: 1_000,
  /** An instance counts as used for so long after its last request. */
  usedMs: 10_000,
} as const;

/**
 * Runs so many requests of an instance at once that those of others get their turns: the rest waits, and is refused after a second. An instance that is
 * used alone keeps nobody waiting, so only its quota limits it.
 */
export class RequestTurns {
  readonly #clock: Clock;
  readonly #queue: FairQueue;
  /** The quotas of concurrent requests, as of the last request of each instance. */
  readonly #quotas = new Map<string, number>();
  /** The instance that was used last, and the one that was used last before it. */
  #last: { readonly id: string; ms: number } | undefined;
  #other: { readonly id: string; readonly ms: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#queue = new FairQueue({
      runningMax: Number.POSITIVE_INFINITY,
      runningOfInstanceMax: (id) => this.#maxOf(id),
      waitingMax: Number.POSITIVE_INFINITY,
      waitingOfInstanceMax: turnLimits.waitingOfInstanceMax,
      waitingOfAddressMax: turnLimits.waitingOfInstanceMax,
      waitMsMax: turnLimits.waitMsMax,
    });
  }

  /** Notes a request, and returns whether it needs no turn: those of an instance that is used alone are not counted. */
  isFree(instance: string, quota: number | undefined): boolean {
    this.#note(instance);
    return quota === undefined && this.#isAlone(instance);
  }

  /** Runs the work of a request that is not free. Throws unavailable when it would wait for too long. */
  async run<Result>(share: Share, quota: number | undefined, work: () => Promise<Result>): Promise<Result> {
    const { instance } = share;
    if (quota === undefined) this.#quotas.delete(instance);
    else this.#quotas.set(instance, quota);
    const result = this.#queue.run(share, work);
    if (result === undefined) throw busy();
    return result;
  }

  /** Runs a wait of a request that has its turn: others have it meanwhile. */
  outside<Result>(instance: string, wait: () => Promise<Result>): Promise<Result> {
    return this.#queue.outside(instance, wait);
  }

  #note(id: string): void {
    const ms = this.#clock.monotonic();
    if (this.#last?.id === id) this.#last.ms = ms;
    else {
      this.#other = this.#last;
      this.#last = { id, ms };
    }
  }

  #maxOf(id: string): number {
    const quota = this.#quotas.get(id);
    if (quota !== undefined) return quota;
    return this.#isAlone(id) ? Number.POSITIVE_INFINITY : turnLimits.runningOfInstanceMax;
  }

  #isAlone(id: string): boolean {
    const other = this.#last?.id === id ? this.#other : this.#last;
    return other === undefined || this.#clock.monotonic() - other.ms > turnLimits.usedMs;
  }
}
