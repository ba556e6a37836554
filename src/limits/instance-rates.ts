import type { Quota } from './rate-limiter.ts';
import { type CountedInstance, SharedCounter } from './shared-counter.ts';

/** Short enough that a burst is over soon, and long enough that all nodes count together (shared-counter.ts). */
const windowSeconds = 10;

/** Counts the requests of all clients of an instance together, with those of other nodes if there are any. */
export class InstanceRates {
  readonly #counter = new SharedCounter({ kind: 'quota', isFinal: true });

  /** Counts a request against a quota of so many a second. */
  async count(instance: CountedInstance, policy: string, perSecond: number): Promise<Quota> {
    const max = perSecond * windowSeconds;
    const key = `${policy}|${max}`;
    const count = await this.#counter.take(instance, key, { max, durationMs: windowSeconds * 1_000 });
    const { isAllowed, used, resetSeconds } = count;
    return { policy, max, windowSeconds, remaining: max - used, resetSeconds, isExceeded: !isAllowed };
  }
}
