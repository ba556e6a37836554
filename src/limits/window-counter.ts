/** A client's use of a window that began with its first request. */
export interface Window {
  readonly isAllowed: boolean;
  readonly used: number;
  /** Milliseconds since 1970. */
  readonly endMs: number;
}

interface OpenWindow {
  readonly startMs: number;
  endMs: number;
  /** True when its end is that of a window that all nodes share. */
  isShared: boolean;
  used: number;
}

export interface Limit {
  readonly max: number;
  readonly durationMs: number;
}

export interface WindowLimit extends Limit {
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

  /** Returns the result of `take` without counting. */
  look(key: string, limit: WindowLimit): Window {
    const { used, endMs } = this.#find(key, limit.nowMs) ?? {
      used: 0,
      endMs: limit.nowMs + limit.durationMs,
    };
    return { isAllowed: used < limit.max, used, endMs };
  }

  /** Gives back one that was taken from the window that ends at `endMs`. */
  refund(key: string, endMs: number): void {
    const window = this.#windows.get(key);
    if (window?.endMs === endMs && window.used > 0) window.used -= 1;
  }

  /** Makes the window end when the one that all nodes share does. What was counted before that was known counts for it. */
  endAt(key: string, endMs: number): void {
    const window = this.#windows.get(key);
    if (window === undefined || (window.isShared && window.endMs === endMs)) return;
    // Only the request that has learned of it counts for the next window.
    if (window.isShared) window.used = 1;
    window.endMs = endMs;
    window.isShared = true;
  }

  /** Makes the window at least this full. */
  fill(key: string, used: number): void {
    const window = this.#windows.get(key);
    if (window !== undefined) window.used = Math.max(window.used, used);
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
    const window = { startMs: nowMs, endMs: nowMs + durationMs, isShared: false, used: 0 };
    this.#windows.set(key, window);
    return window;
  }
}
