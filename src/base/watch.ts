/** Who has not answered when it would have been asked for the sixth time is away, as far as anybody can tell. */
const missedMax = 6;

/** Looks again and again, one look at a time, and remembers whether the last one went well. */
export class Watch {
  readonly #look: () => Promise<void>;
  readonly #onError: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;
  #missed = 0;
  #hasFailed = false;

  constructor(options: {
    readonly intervalMs: number;
    readonly look: () => Promise<void>;
    /** Called when a look has failed after one that went well. */
    readonly onError: (error: unknown) => void;
  }) {
    this.#look = options.look;
    this.#onError = options.onError;
    this.#timer = setInterval(() => this.#tick(), options.intervalMs).unref();
  }

  get isWell(): boolean {
    return !this.#hasFailed && this.#missed < missedMax;
  }

  /** Looks besides, at once or when the look that runs is over. Never rejects. */
  async look(): Promise<void> {
    await this.#looking;
    await this.#begin();
  }

  /** Resolves when the look that runs, if any, is over. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    // One that was asked for meanwhile begins after it.
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
