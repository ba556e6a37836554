/** Limits of a queue. `…OfOne` limits a single instance, so that its slow work does not hold up other instances. */
export interface TurnLimits {
  readonly runningMax: number;
  readonly runningOfOneMax: number;
  readonly waitingMax: number;
  readonly waitingOfOneMax: number;
}

/** Runs the work of several instances: in order for each instance, and in turn among them. */
export class TurnQueue {
  readonly #limits: TurnLimits;
  /** Waiting work by instance; the instance whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => Promise<void>)[]>();
  readonly #running = new Map<string, number>();
  #waitingCount = 0;
  #runningCount = 0;
  #whenIdle: (() => void)[] = [];

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /**
   * Queues work and returns its result; it begins in a later turn of the event loop at the earliest. Returns undefined, and never
   * begins it, when too many are waiting.
   */
  run<Result>(instanceId: string, work: () => Promise<Result>): Promise<Result> | undefined {
    const own = this.#waiting.get(instanceId) ?? [];
    const { waitingMax, waitingOfOneMax } = this.#limits;
    if (this.#waitingCount >= waitingMax || own.length >= waitingOfOneMax) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    own.push(() => work().then(resolve, reject));
    this.#waiting.set(instanceId, own);
    this.#waitingCount += 1;
    setImmediate(() => this.#begin());
    return promise;
  }

  /** Resolves when nothing runs or waits. */
  async whenIdle(): Promise<void> {
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#runningCount === 0 && this.#waitingCount === 0;
  }

  #begin(): void {
    for (const [instanceId, own] of this.#waiting) {
      if (this.#runningCount >= this.#limits.runningMax) return;
      const running = this.#running.get(instanceId) ?? 0;
      if (running >= this.#limits.runningOfOneMax) continue;
      const next = own.shift();
      // An instance with more work goes to the end of the line.
      this.#waiting.delete(instanceId);
      if (own.length > 0) this.#waiting.set(instanceId, own);
      if (next === undefined) continue;
      this.#waitingCount -= 1;
      this.#count(instanceId, 1);
      void next().finally(() => this.#end(instanceId));
    }
  }

  #end(instanceId: string): void {
    this.#count(instanceId, -1);
    this.#begin();
    if (!this.#isIdle) return;
    const waiting = this.#whenIdle;
    this.#whenIdle = [];
    for (const resolve of waiting) resolve();
  }

  #count(instanceId: string, change: 1 | -1): void {
    this.#runningCount += change;
    const running = (this.#running.get(instanceId) ?? 0) + change;
    if (running === 0) this.#running.delete(instanceId);
    else this.#running.set(instanceId, running);
  }
}
