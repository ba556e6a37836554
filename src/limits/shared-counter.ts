import { assert } from '../base/assert.ts';
import type { Counting } from './counting-of.ts';
import { WindowCounter, type Window, type WindowLimit } from './window-counter.ts';
import { clockSlackMs, type Share, type WindowStore } from './window-store.ts';

export interface SharedLimit extends WindowLimit, Counting {}

export interface SharedCounterOptions {
  /** Tells its keys from those of other counters in the same store. */
  readonly kind: string;
  readonly keysMax: number;
  /**
   * What is taken is never given back: a window that is full stays so until it ends, and some of it may be put by, so that few requests
   * have to ask. Others are counted one by one.
   */
  readonly isFinal?: boolean;
}

/** Of a window, put by on one node at most, as one part of so many: what three nodes put by is less than a quarter of it. */
const reserveParts = 16;

/** What this node knows of a window, and has had of it. */
interface Held {
  readonly key: string;
  endMs: number;
  /** No store has told of this window yet. */
  isAlone: boolean;
  /** By the store to this node. */
  given: number;
  /** By this node to clients: more than was given where nobody answered in time, which the next question makes good. */
  used: number;
  /** By all nodes when the store was last asked. */
  taken: number;
  isFull: boolean;
  isAsking: boolean;
  /** In the order in which they came. */
  readonly waiting: ((window: Window) => void)[];
}

/**
 * Counts in fixed windows, together with other nodes where there is a store. Whoever waits for the store waits for one question of a
 * key at a time. When it does not answer in time this node's own count decides, so that nobody hangs and no gate opens.
 */
export class SharedCounter {
  readonly #options: SharedCounterOptions;
  readonly #alone: WindowCounter;
  /** In order of their beginning. */
  readonly #helds = new Map<string, Held>();

  constructor(options: SharedCounterOptions) {
    this.#options = options;
    this.#alone = new WindowCounter(options.keysMax);
  }

  /** Counts one, unless the window is full. A promise only where other nodes have to be asked. */
  take(key: string, limit: SharedLimit): Window | Promise<Window> {
    const { store } = limit;
    if (store === undefined) return this.#alone.take(key, limit);
    const held = this.#find(key, limit, store) ?? this.#begin(key, store);
    const isKnown = held.isFull || held.used < held.given;
    // In the order in which they came: nobody overtakes those who wait.
    if (isKnown && held.waiting.length === 0) return takeFrom(held, limit);
    return new Promise((resolve) => {
      held.waiting.push(resolve);
      if (!held.isAsking) void this.#serve(held, limit, store);
    });
  }

  /** Whether `take` would be refused as far as is known without asking anybody. */
  look(key: string, limit: SharedLimit): Window | undefined {
    return limit.store === undefined ? this.#alone.look(key, limit) : undefined;
  }

  /** What was taken in the window that ends then was not used. */
  giveBack(key: string, endMs: number, store?: WindowStore): void {
    assert(this.#options.isFinal !== true, 'nothing is given back of what is final');
    if (store === undefined) return this.#alone.giveBack(key, endMs);
    const held = this.#helds.get(`${store.id}|${key}`);
    if (held === undefined || held.endMs !== endMs || held.used === 0) return;
    held.used -= 1;
    const count = held.given - held.used;
    if (count <= 0) return;
    held.given = held.used;
    store.giveBack(held.key, { endMs, count });
  }

  #find(key: string, { nowMs, durationMs }: SharedLimit, store: WindowStore): Held | undefined {
    const held = this.#helds.get(`${store.id}|${key}`);
    // The first answer of a new one is still to come.
    if (held === undefined || held.endMs === 0) return held;
    const isOver = nowMs >= held.endMs || held.endMs > nowMs + durationMs + clockSlackMs;
    return isOver ? undefined : held;
  }

  #begin(key: string, store: WindowStore): Held {
    const name = `${store.id}|${key}`;
    this.#helds.delete(name);
    const [oldest] = this.#helds.keys();
    if (oldest !== undefined && this.#helds.size >= this.#options.keysMax) this.#helds.delete(oldest);
    const held: Held = {
      key: `${this.#options.kind}|${key}`,
      endMs: 0,
      isAlone: true,
      given: 0,
      used: 0,
      taken: 0,
      isFull: false,
      isAsking: false,
      waiting: [],
    };
    this.#helds.set(name, held);
    return held;
  }

  /** Asks until nobody waits: each answer is the last for at least one, as it gives something or says that there is nothing more. */
  async #serve(held: Held, limit: SharedLimit, store: WindowStore): Promise<void> {
    held.isAsking = true;
    while (held.waiting.length > 0) {
      const asked = { waiting: 0, count: 0 };
      const outcome = await store.take({
        key: held.key,
        max: limit.max,
        durationMs: limit.durationMs,
        want: () => {
          asked.waiting = held.waiting.length;
          // What is owed as well.
          asked.count = Math.max(0, held.used - held.given) + asked.waiting;
          return { count: asked.count, reserve: this.#reserveOf(limit) };
        },
        answer: (share) => this.#answer(held, { share, asked, limit }),
      });
      if (outcome === 'late') decideAlone(held, limit);
    }
    held.isAsking = false;
  }

  #reserveOf({ max }: SharedLimit): number {
    return this.#options.isFinal === true ? Math.floor(max / reserveParts) : 0;
  }

  #answer(held: Held, { share, asked, limit }: Answered): void {
    adopt(held, share);
    held.isFull = this.#options.isFinal === true && share.given < asked.count;
    // Who came after the question went out is in the next one, unless nothing would come of it.
    const count = held.isFull ? held.waiting.length : asked.waiting;
    for (const resolve of held.waiting.splice(0, count)) resolve(takeFrom(held, limit));
  }
}

interface Answered {
  readonly share: Share;
  /** How many waited when the question went out, and what it asked for. */
  readonly asked: { readonly waiting: number; readonly count: number };
  readonly limit: WindowLimit;
}

/** Counts one of what this node was given, if there is any. */
function takeFrom(held: Held, { max }: WindowLimit): Window {
  const isAllowed = held.used < held.given;
  if (isAllowed) held.used += 1;
  const used = isAllowed ? Math.min(max, held.taken - held.given + held.used) : max;
  return { isAllowed, used, endMs: held.endMs };
}

function adopt(held: Held, share: Share): void {
  if (held.endMs !== share.endMs) {
    // What this node has used before anybody told of the window was used of this one.
    if (!held.isAlone) held.used = 0;
    held.given = 0;
    held.endMs = share.endMs;
  }
  held.isAlone = false;
  held.given += share.given;
  held.taken = share.taken;
}

/** For all who wait: this node gives no more than it would if it were the only one. */
function decideAlone(held: Held, { max, durationMs, nowMs }: WindowLimit): void {
  if (held.endMs === 0) held.endMs = nowMs + durationMs;
  for (const resolve of held.waiting.splice(0)) {
    const isAllowed = held.used < max;
    if (isAllowed) held.used += 1;
    resolve({ isAllowed, used: held.used, endMs: held.endMs });
  }
}
