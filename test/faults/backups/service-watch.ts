import { setTimeout as wait } from 'node:timers/promises';

/** How often it is looked whether an instance is served. */
const lookMs = 25;

/** Looks all the time whether an instance is served, and notes for how long a running server has told clients to come again. */
export class ServiceWatch {
  /** In milliseconds. */
  readonly outages: number[] = [];
  readonly #url: () => string | undefined;
  #sinceMs: number | undefined;
  #isWatching = true;
  #loop: Promise<void> | undefined;

  constructor(url: () => string | undefined) {
    this.#url = url;
  }

  start(): void {
    this.#loop = this.#watch();
  }

  /** Since when a running server has answered with 503 without a break, in the process's milliseconds; undefined where it serves. */
  get awaySinceMs(): number | undefined {
    return this.#sinceMs;
  }

  async stop(): Promise<void> {
    this.#isWatching = false;
    await this.#loop;
  }

  async #watch(): Promise<void> {
    while (this.#isWatching) {
      await wait(lookMs);
      const url = this.#url();
      const status = url === undefined ? 0 : await statusOf(`${url}/api/collections/posts/records?perPage=1`);
      if (status === 503) this.#sinceMs ??= performance.now();
      else if (status !== 0) this.#endOutage();
    }
  }

  #endOutage(): void {
    if (this.#sinceMs !== undefined) this.outages.push(performance.now() - this.#sinceMs);
    this.#sinceMs = undefined;
  }
}

async function statusOf(url: string): Promise<number> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}
