import { assert } from '../base/assert.ts';
import type { Counting } from './counting-of.ts';
import { clockSlackMs, type Share, type WindowStore } from './window-store.ts';

export interface SharedLimit extends WindowLimit, Counting {}

export interface SharedCounterOptions {
  /** Distinguishes its keys from those of other counters in the same store. */
  readonly kind: string;
  readonly keysMax: number;
  /**
   * True when nothing is ever given back: a full window then stays full until it ends, and a node may take a reserve, so that few
   * requests need a question. Otherwise a node takes only what it uses.
   */
  readonly isFinal?: boolean;
}

/** A node's reserve is at most this fraction of a window: three nodes reserve less than a quarter of it. */
const reserveParts = 16;

/** What this node knows of a window, and what it has taken from it. */
interface Held {
  readonly key: string;
  endMs: number;
  /** True until the store has first answered for this key. */
  isAlone: boolean;
  /** What the store has given this node. */
  given: number;
  /** What this node has given clients. More than `given` if the store was late; the next question then asks for the difference. */
  used: number;
  /** What all nodes had taken when the store last answered. */
  taken: number;
  isFull: boolean;
  isAsking: boolean;
  /** The requests that wait for the store, in the order in which they came. */
  readonly waiting: ((window: Window) => void)[];
}

/**
 * Counts in fixed windows, together with other nodes if there is a store. For each key there is one question to the store at a time,
 * and requests wait for it together. If the store is late, this node's own count decides: no request hangs, and none is unlimited.
 */
export class SharedCounter {
  readonly #options: SharedCounterOptions;
  readonly #alone: WindowCounter;
  /** In the order in which they began. */
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
    // In the order of arrival: no request may overtake those that wait.
    if (isKnown && held.waiting.length === 0) return takeFrom(held, limit);
    return new Promise((resolve) => {
      held.waiting.push(resolve);
      if (!held.isAsking) void this.#serve(held, limit, store);
    });
  }

  /** Returns what `take` would, without counting; undefined where the store would have to be asked. */
  look(key: string, limit: SharedLimit): Window | undefined {
    return limit.store === undefined ? this.#alone.look(key, limit) : undefined;
  }

  /** Gives back one that was taken from the window that ends at `endMs`. */
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
    // A new one has no end until its first answer.
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

  /** Asks the store until no request waits. Each answer serves at least one: it gives something, or says that nothing is left. */
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
          // Plus what was given to clients while the store was late.
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
    // Requests that came after the question went out wait for the next one, unless the window is full anyway.
    const count = held.isFull ? held.waiting.length : asked.waiting;
    for (const resolve of held.waiting.splice(0, count)) resolve(takeFrom(held, limit));
  }
}

interface Answered {
  readonly share: Share;
  /** How many requests waited when the question went out, and how many it asked for. */
  readonly asked: { readonly waiting: number; readonly count: number };
  readonly limit: WindowLimit;
}

/** Counts one of what this node was given, if any is left. */
function takeFrom(held: Held, { max }: WindowLimit): Window {
  const isAllowed = held.used < held.given;
  if (isAllowed) held.used += 1;
  const used = isAllowed ? Math.min(max, held.taken - held.given + held.used) : max;
  return { isAllowed, used, endMs: held.endMs };
}

function adopt(held: Held, share: Share): void {
  if (held.endMs !== share.endMs) {
    // What was used before the first answer counts for this window.
    if (!held.isAlone) held.used = 0;
    held.given = 0;
    held.endMs = share.endMs;
  }
  held.isAlone = false;
  held.given += share.given;
  held.taken = share.taken;
}

/** Decides for all waiting requests without the store: this node allows no more than if it were the only one. */
function decideAlone(held: Held, { max, durationMs, nowMs }: WindowLimit): void {
  if (held.endMs === 0) held.endMs = nowMs + durationMs;
  for (const resolve of held.waiting.splice(0)) {
    const isAllowed = held.used < max;
    if (isAllowed) held.used += 1;
    resolve({ isAllowed, used: held.used, endMs: held.endMs });
  }
}

/** A client's use of a window that began with its first request. */
export interface Window {
  readonly isAllowed: boolean;
  readonly used: number;
  /** Milliseconds since 1970. */
  readonly endMs: number;
}

interface OpenWindow {
  readonly startMs: number;
  readonly endMs: number;
  used: number;
}

export interface WindowLimit {
  readonly max: number;
  readonly durationMs: number;
  readonly nowMs: number;
}

/**
 * Counts in fixed windows, each beginning with its first count. At most `keysMax` are kept; beyond, the oldest is dropped. To
 * have its window dropped, a client would need as many keys within the duration of one window.
 */
export class WindowCounter {
  readonly #keysMax: number;
  /** In the order in which they began. */
  readonly #windows = new Map<string, OpenWindow>();

  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  /** Counts one, unless the window is full. */
  take(key: string, limit: WindowLimit): Window {
    const window = this.#find(key, limit.nowMs) ?? this.#begin(key, limit);
    const isAllowed = window.used < limit.max;
    if (isAllowed) window.used += 1;
    return { isAllowed, used: window.used, endMs: window.endMs };
  }

  /** Returns what `take` would, without counting. */
  look(key: string, limit: WindowLimit): Window {
    const { used, endMs } = this.#find(key, limit.nowMs) ?? {
      used: 0,
      endMs: limit.nowMs + limit.durationMs,
    };
    return { isAllowed: used < limit.max, used, endMs };
  }

  /** Gives back one that was taken from the window that ends at `endMs`. */
  giveBack(key: string, endMs: number): void {
    const window = this.#windows.get(key);
    if (window?.endMs === endMs && window.used > 0) window.used -= 1;
  }

  get size(): number {
    return this.#windows.size;
  }

  #find(key: string, nowMs: number): OpenWindow | undefined {
    const window = this.#windows.get(key);
    // Before its start as well: after the clock was set back, a client must not be shut out until it has caught up.
    return window === undefined || nowMs >= window.endMs || nowMs < window.startMs ? undefined : window;
  }

  #begin(key: string, { nowMs, durationMs }: WindowLimit): OpenWindow {
    this.#windows.delete(key);
    const [oldest] = this.#windows.keys();
    if (oldest !== undefined && this.#windows.size >= this.#keysMax) this.#windows.delete(oldest);
    const window = { startMs: nowMs, endMs: nowMs + durationMs, used: 0 };
    this.#windows.set(key, window);
    return window;
  }
}
