import { busy } from './errors.ts';
import { FairLine, type LineLimits, type Share } from './fair-line.ts';

export interface QueueLimits extends LineLimits {
  readonly runningMax: number;
  /** As many as may run when it is left out; of each instance where it is a function. */
  readonly runningOfInstanceMax?: number | ((instance: string) => number);
  /** For as long as it takes when it is left out. */
  readonly waitMsMax?: number;
}

interface QueuedTask {
  readonly instance: string;
  readonly begin: () => void;
  /** Ends the wait without a turn. */
  readonly leave: () => void;
}

/**
 * Runs work that takes something of which the whole process has little, such as processors, at most `runningMax` at a time. The rest
 * waits in a {@link FairLine}: whatever one instance or one client requests, all others are served in their turn.
 */
export class FairQueue {
  readonly #limits: QueueLimits;
  readonly #line: FairLine<QueuedTask>;
  readonly #running = new Map<string, number>();
  #runningCount = 0;
  #whenIdle: (() => void)[] = [];

  constructor(limits: QueueLimits) {
    this.#limits = limits;
    this.#line = new FairLine(limits);
  }

  /**
   * Runs work when it is its turn and returns its result. Returns undefined, and never begins it, when the queue is full.
   * Rejects with Busy when it has to give way to others or waits for too long, and when its share's signal is aborted meanwhile.
   */
  run<Result>(share: Share, work: () => Promise<Result>): Promise<Result> | undefined {
    const { instance, signal } = share;
    if (signal?.aborted === true) return Promise.reject(busy());
    if (this.#line.length === 0 && this.#isReady(instance)) return this.#run(instance, work);
    const turn = Promise.withResolvers<void>();
    const leave = (): void => {
      this.#line.remove(share, waiting);
      turn.reject(busy());
    };
    const waiting: QueuedTask = { instance, begin: turn.resolve, leave };
    const displaced = this.#line.add(share, waiting);
    if (displaced === waiting) return undefined;
    displaced?.leave();
    const { waitMsMax } = this.#limits;
    const timer = waitMsMax === undefined ? undefined : setTimeout(leave, waitMsMax);
    signal?.addEventListener('abort', leave, { once: true });
    // All that waits may be of instances of which enough runs.
    this.#begin();
    return turn.promise
      .finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
      })
      .then(() => this.#end(instance, work));
  }

  /** Runs a wait of work that has its turn: others have it meanwhile. */
  async outside<Result>(instance: string, wait: () => Promise<Result>): Promise<Result> {
    this.#count(instance, -1);
    this.#begin();
    try {
      return await wait();
    } finally {
      this.#count(instance, 1);
    }
  }

  get waiting(): number {
    return this.#line.length;
  }

  /** Resolves when nothing runs or waits. */
  async whenIdle(): Promise<void> {
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#runningCount === 0 && this.#line.length === 0;
  }

  #isReady(instance: string): boolean {
    const { runningMax, runningOfInstanceMax = runningMax } = this.#limits;
    const ofInstanceMax =
      typeof runningOfInstanceMax === 'number' ? runningOfInstanceMax : runningOfInstanceMax(instance);
    return this.#runningCount < runningMax && (this.#running.get(instance) ?? 0) < ofInstanceMax;
  }

  #run<Result>(instance: string, work: () => Promise<Result>): Promise<Result> {
    this.#count(instance, 1);
    return this.#end(instance, work);
  }

  /** Runs work that is counted already. */
  async #end<Result>(instance: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } finally {
      this.#count(instance, -1);
      this.#begin();
      if (this.#isIdle) for (const resolve of this.#whenIdle.splice(0)) resolve();
    }
  }

  #begin(): void {
    for (;;) {
      const next = this.#line.next((instance) => this.#isReady(instance));
      if (next === undefined) return;
      // Counted at once: its promise continues only after this turn of the loop.
      this.#count(next.instance, 1);
      next.begin();
    }
  }

  #count(instance: string, change: 1 | -1): void {
    this.#runningCount += change;
    const running = (this.#running.get(instance) ?? 0) + change;
    if (running === 0) this.#running.delete(instance);
    else this.#running.set(instance, running);
  }
}
