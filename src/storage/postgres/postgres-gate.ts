import { busy } from '../../base/errors.ts';

export interface WriteGateOptions {
  /** Writers that may be inside at the same time. */
  readonly sharedMax: number;
  /** More waiting writers than this are refused at once. */
  readonly waitingMax: number;
  readonly waitMsMax: number;
}

interface Waiting {
  readonly isExclusive: boolean;
  readonly enter: () => void;
  hasLeft: boolean;
}

/**
 * Admits one instance's writers in the order in which they came: several together, an exclusive one alone. It keeps an instance from
 * taking the whole pool, and keeps this process's other writers out during a change of tables, until its caches are up to date.
 */
export class WriteGate {
  readonly #options: WriteGateOptions;
  readonly #queue: Waiting[] = [];
  /** The index at which the queue begins. Entries before it are done with; shifting them off would move a long array each time. */
  #head = 0;
  #waiting = 0;
  #inside = 0;
  #isExclusive = false;
  #onEmpty: (() => void)[] = [];

  constructor(options: WriteGateOptions) {
    this.#options = options;
  }

  /** Resolves when the writer is admitted, which then calls {@link leave} once. */
  enter(isExclusive: boolean): Promise<void> {
    if (this.#waiting >= this.#options.waitingMax) return Promise.reject(busy());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.hasLeft = true;
        this.#waiting -= 1;
        reject(busy());
        this.#admit();
      }, this.#options.waitMsMax);
      const waiting: Waiting = {
        isExclusive,
        hasLeft: false,
        enter: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      this.#waiting += 1;
      this.#queue.push(waiting);
      this.#admit();
    });
  }

  leave(): void {
    this.#inside -= 1;
    this.#isExclusive = false;
    this.#admit();
    if (this.#inside > 0 || this.#waiting > 0) return;
    for (const tell of this.#onEmpty.splice(0)) tell();
  }

  /** Resolves when nobody is inside and nobody waits. */
  async drain(): Promise<void> {
    if (this.#inside === 0 && this.#waiting === 0) return;
    await new Promise<void>((resolve) => this.#onEmpty.push(resolve));
  }

  #admit(): void {
    for (;;) {
      const next = this.#queue[this.#head];
      if (next === undefined) break;
      if (!next.hasLeft) {
        const roomFor = next.isExclusive ? 1 : this.#options.sharedMax;
        if (this.#isExclusive || this.#inside >= roomFor) return;
        this.#inside += 1;
        this.#waiting -= 1;
        this.#isExclusive = next.isExclusive;
        next.enter();
      }
      this.#head += 1;
    }
    this.#queue.length = 0;
    this.#head = 0;
  }
}
