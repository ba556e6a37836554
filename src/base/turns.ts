/** Lets a limited number of works run at once; the others wait for their turn, in their order. */
export class Turns {
  readonly #runningMax: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  /** Runs a work when it is its turn, and returns its result. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#runningMax) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The place passes on to the next one, without being free in between.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
