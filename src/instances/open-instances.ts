import type { Clock } from '../base/clock.ts';
import { busy } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { InstanceEntry } from './instance-directory.ts';
import type { Instance } from './instance.ts';

/** Each open instance takes three file descriptors and about half a megabyte, and as much again for the log of its requests. */
const openMax = 512;
const idleMs = 10 * 60_000;
const sweepIntervalMs = 30_000;
/** An instance with work due this soon is not worth closing. */
const dueSoonMs = 60_000;

/** An instance on loan. It stays open until every loan was released. */
export interface Loan {
  readonly instance: Instance;
  release(): void;
}

export interface OpenInstancesOptions {
  readonly open: (entry: InstanceEntry) => Promise<Instance>;
  /** Returns when the instance will next have work of its own (milliseconds since 1970), or undefined. Asked before its file is closed. */
  readonly nextDue: (instanceId: string) => number | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Slot {
  readonly opening: Promise<Instance>;
  instance: Instance | undefined;
  loans: number;
  lastUsedMs: number;
}

/** The instances whose files are open: opened on demand, closed when idle, never more than `openMax`. */
export class OpenInstances {
  readonly #options: OpenInstancesOptions;
  /** By instance id. */
  readonly #slots = new Map<string, Slot>();
  readonly #closing = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: OpenInstancesOptions) {
    this.#options = options;
  }

  get openCount(): number {
    return this.#slots.size;
  }

  /** Begins to close idle instances from time to time. */
  startSweeping(): void {
    this.#timer = setInterval(() => this.#sweep(), sweepIntervalMs).unref();
  }

  /** Returns a loan if the instance is open, as it nearly always is; undefined when `borrow` would have to wait. */
  borrowOpen(instanceId: string): Loan | undefined {
    const slot = this.#slots.get(instanceId);
    return slot?.instance === undefined ? undefined : this.#lend(slot, slot.instance);
  }

  async borrow(entry: InstanceEntry): Promise<Loan> {
    const slot = this.#slots.get(entry.id) ?? (await this.#openSlot(entry));
    slot.loans += 1;
    try {
      return this.#lend(slot, await slot.opening);
    } finally {
      slot.loans -= 1;
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const id of this.#slots.keys()) this.#close(id);
    await Promise.all(this.#closing.values());
  }

  #lend(slot: Slot, instance: Instance): Loan {
    slot.loans += 1;
    slot.lastUsedMs = this.#options.clock.monotonic();
    let isOut = true;
    return {
      instance,
      release: () => {
        if (!isOut) return;
        isOut = false;
        slot.loans -= 1;
        slot.lastUsedMs = this.#options.clock.monotonic();
      },
    };
  }

  async #openSlot(entry: InstanceEntry): Promise<Slot> {
    // The same file must not be open twice: its writer would wait for itself.
    await this.#closing.get(entry.id);
    const already = this.#slots.get(entry.id);
    if (already !== undefined) return already;
    if (this.#slots.size >= openMax) this.#closeOldest();
    const opening = this.#options.open(entry);
    const slot: Slot = {
      opening,
      instance: undefined,
      loans: 0,
      lastUsedMs: this.#options.clock.monotonic(),
    };
    this.#slots.set(entry.id, slot);
    opening.then(
      (instance) => {
        slot.instance = instance;
      },
      () => this.#slots.delete(entry.id),
    );
    return slot;
  }

  #closeOldest(): void {
    const idle = [...this.#slots].filter(([id, slot]) => this.#mayClose(id, slot));
    const [oldest] = idle.toSorted(([, a], [, b]) => a.lastUsedMs - b.lastUsedMs);
    if (oldest === undefined) {
      throw busy();
    }
    this.#close(oldest[0]);
  }

  #sweep(): void {
    const before = this.#options.clock.monotonic() - idleMs;
    for (const [id, slot] of this.#slots)
      if (slot.lastUsedMs < before && this.#mayClose(id, slot)) this.#close(id);
  }

  #mayClose(id: string, slot: Slot): boolean {
    if (slot.loans > 0 || slot.instance === undefined) return false;
    const due = this.#options.nextDue(id);
    return due === undefined || due > this.#options.clock.now() + dueSoonMs;
  }

  #close(id: string): void {
    const slot = this.#slots.get(id);
    this.#slots.delete(id);
    const closing = Promise.resolve(slot?.opening)
      .then((instance) => instance?.stop())
      .catch((error: unknown) => {
        this.#options.logger.error('An instance did not close cleanly.', { instance: id, error });
      })
      .finally(() => this.#closing.delete(id));
    this.#closing.set(id, closing);
  }
}
