import { assert } from '../base/assert.ts';
import { type Window, WindowCounter, type WindowLimit } from './window-counter.ts';
import type { Counting, WindowStore } from './window-store.ts';

export interface SharedLimit extends WindowLimit, Counting {}

export interface SharedCounterOptions {
  /** Distinguishes its keys from those of other counters in the same store. */
  readonly kind: string;
  readonly keysMax: number;
  /** True when nothing is ever given back: a full window then stays full until it ends, and its store is not asked again. */
  readonly isFinal?: boolean;
}

/**
 * Counts in fixed windows, together with other nodes if there is a store. This node also counts what it lets in by itself: that
 * decides if the store is late, so that no request hangs, and none is unlimited.
 */
export class SharedCounter {
  readonly #options: SharedCounterOptions;
  readonly #own: WindowCounter;

  constructor(options: SharedCounterOptions) {
    this.#options = options;
    this.#own = new WindowCounter(options.keysMax);
  }

  /** Counts one, unless the window is full. A promise only where other nodes count as well. */
  take(key: string, limit: SharedLimit): Window | Promise<Window> {
    const { store } = limit;
    const own = this.#own.take(ownKey(key, store), limit);
    // A window that this node alone has filled is full for all.
    if (store === undefined || !own.isAllowed) return own;
    return store.take(this.#sharedKey(key), limit).then((shared) => {
      if (shared !== undefined) this.#adopt(ownKey(key, store), shared);
      return shared ?? own;
    });
  }

  /** Returns what `take` would, without counting; undefined where the store would have to be asked. */
  look(key: string, limit: SharedLimit): Window | undefined {
    return limit.store === undefined ? this.#own.look(key, limit) : undefined;
  }

  /** Gives back one that was taken from the window that ends at `endMs`. */
  async giveBack(key: string, endMs: number, store?: WindowStore): Promise<void> {
    assert(this.#options.isFinal !== true, 'nothing is given back of what is final');
    this.#own.giveBack(ownKey(key, store), endMs);
    await store?.giveBack(this.#sharedKey(key), endMs);
  }

  #sharedKey(key: string): string {
    return `${this.#options.kind}|${key}`;
  }

  #adopt(key: string, { isAllowed, used, endMs }: Window): void {
    this.#own.endAt(key, endMs);
    if (this.#options.isFinal === true) this.#own.fill(key, used);
    else if (!isAllowed) this.#own.giveBack(key, endMs);
  }
}

/** Several databases, which have windows of their own, may be open in one process. */
function ownKey(key: string, store: WindowStore | undefined): string {
  return store === undefined ? key : `${store.id}|${key}`;
}
