/** A look that is still running after this many further intervals counts as failed. */
const missedMax = 6;

/** Runs a look at an interval, one at a time, and remembers whether the last one succeeded. */
export class Poller {
  readonly #look: () => Promise<void>;
  readonly #onError: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;
  #missed = 0;
  #hasFailed = false;

  constructor(options: {
    readonly intervalMs: number;
    readonly poll: () => Promise<void>;
    /** Called when a look fails after one that succeeded. */
    readonly onError: (error: unknown) => void;
  }) {
    this.#look = options.poll;
    this.#onError = options.onError;
    this.#timer = setInterval(() => this.#tick(), options.intervalMs).unref();
  }

  get isWell(): boolean {
    return !this.#hasFailed && this.#missed < missedMax;
  }

  /** Runs an extra look, at once or after the one that is running. Never rejects. */
  async look(): Promise<void> {
    await this.#looking;
    await this.#begin();
  }

  /** Stops the interval; resolves when no look is running any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    // A poll that was requested meanwhile begins after the running one.
    while (this.#looking !== undefined) await this.#looking;
  }

  #tick(): void {
    if (this.#looking === undefined) void this.#begin();
    else this.#missed += 1;
  }

  #begin(): Promise<void> {
    this.#looking ??= this.#look()
      .then(
        () => (this.#hasFailed = false),
        (error: unknown) => {
          if (!this.#hasFailed) this.#onError(error);
          this.#hasFailed = true;
        },
      )
      .then(() => {
        this.#missed = 0;
        this.#looking = undefined;
      });
    return this.#looking;
  }
}
