import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { type Limit, type Window, WindowCounter } from './window-counter.ts';
import type { WindowStore } from './window-store.ts';

/** What counting needs of an instance. */
export interface CountedInstance {
  readonly id: string;
  readonly dueClock: Clock;
  /** Where all nodes count together; undefined where no other process counts. */
  readonly windows: WindowStore | undefined;
}

export interface SharedCounterOptions {
  /** Distinguishes its keys from those of other counters in the same store. */
  readonly kind: string;
  /** Windows that this process counts in, of about 200 bytes each. */
  readonly keysMax?: number;
  /** True when counts are never refunded: a full window then stays full until it ends, and its store is not read again. */
  readonly isFinal?: boolean;
}

const keysMaxDefault = 50_000;

/** In shorter windows each node counts alone: differences of clocks would matter, and no request waits for the database. */
const sharedMsMin = 10_000;

/** One that was counted, unless its window was full. */
export interface Count extends Window {
  /** The whole seconds until the window ends, at least 1. */
  readonly resetSeconds: number;
  /** Takes it out of the window, if it was counted. */
  refund(): Promise<void>;
}

/**
 * Counts in fixed windows of an instance, together with other nodes if there are any. This node also counts the requests that it admits itself:
 * that decides if the store is late, so that no request hangs, and none is unlimited.
 */
export class SharedCounter {
  readonly #options: SharedCounterOptions;
  readonly #own: WindowCounter;

  constructor(options: SharedCounterOptions) {
    this.#options = options;
    this.#own = new WindowCounter(options.keysMax ?? keysMaxDefault);
  }

  /** Counts one, unless the window is full. A promise only where other nodes count as well. */
  take(instance: CountedInstance, key: string, limit: Limit): Count | Promise<Count> {
    const nowMs = instance.dueClock.now();
    const place = this.#placeOf(instance, key, limit);
    const toCount = (window: Window): Count => ({
      ...window,
      resetSeconds: secondsUntil(window.endMs, nowMs),
      refund: () => this.#refund(place, window),
    });
    const own = this.#own.take(place.ownKey, { ...limit, nowMs });
    // A window that this node alone has filled is full for all.
    if (place.store === undefined || !own.isAllowed) return toCount(own);
    return place.store.take(place.sharedKey, limit).then((shared) => {
      if (shared !== undefined) this.#adopt(place.ownKey, shared);
      return toCount(shared ?? own);
    });
  }

  /** Returns the seconds until a full window ends, without counting; undefined where it has room, or the store would have to be read. */
  fullSeconds(instance: CountedInstance, key: string, limit: Limit): number | undefined {
    const nowMs = instance.dueClock.now();
    const { ownKey, store } = this.#placeOf(instance, key, limit);
    if (store !== undefined) return undefined;
    const { isAllowed, endMs } = this.#own.look(ownKey, { ...limit, nowMs });
    return isAllowed ? undefined : secondsUntil(endMs, nowMs);
  }

  #placeOf({ id, windows }: CountedInstance, key: string, { durationMs }: Limit): CounterKeys {
    const store = durationMs < sharedMsMin ? undefined : windows;
    return { ownKey: `${store?.id ?? id}|${key}`, sharedKey: `${this.#options.kind}|${key}`, store };
  }

  async #refund({ ownKey, sharedKey, store }: CounterKeys, { isAllowed, endMs }: Window): Promise<void> {
    assert(this.#options.isFinal !== true, 'a final count cannot be refunded');
    if (!isAllowed) return;
    this.#own.refund(ownKey, endMs);
    await store?.refund(sharedKey, endMs);
  }

  #adopt(ownKey: string, { isAllowed, used, endMs }: Window): void {
    this.#own.endAt(ownKey, endMs);
    if (this.#options.isFinal === true) this.#own.fill(ownKey, used);
    else if (!isAllowed) this.#own.refund(ownKey, endMs);
  }
}

/** Where a key is counted. */
interface CounterKeys {
  /** Several nodes may run in one process, each with windows of its own. */
  readonly ownKey: string;
  readonly sharedKey: string;
  readonly store: WindowStore | undefined;
}

/** For `Retry-After`. Arguments are milliseconds. */
function secondsUntil(endMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((endMs - nowMs) / 1_000));
}
