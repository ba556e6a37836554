import { atMost } from '../base/at-most.ts';
import type { Clock } from '../base/clock.ts';
import { busy, stopping } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { openFilesMax } from '../base/process.ts';
import { atOnce, type DueIndex, type DueTimes } from './due-index.ts';
import type { InstanceEntry } from './instance-rows.ts';
import type { Instance } from './instance.ts';

/** Each open instance takes about half a megabyte, and as much again for the log of its requests. */
const openMaxDefault = 512;
const openMaxLeast = 16;
/** Of an instance and the log of its requests: two connections each, with a write-ahead log and its index. */
export const filesEach = 11;
const idleMs = 10 * 60_000;
const sweepIntervalMs = 30_000;
/** How long an instance waits for a place before its requests are rejected. */
const waitMsMax = 5_000;
/** How many instances may be closing at once for others: a slow disk must not let them pile up. */
const closingMax = 16;

/** An instance on loan. It stays open until every loan was released. */
export interface Loan {
  readonly instance: Instance;
  release(): void;
}

export interface OpenInstancesOptions {
  readonly open: (entry: InstanceEntry) => Promise<Instance>;
  /** Remembers which instances are open. Left out where the database itself can be searched for what is due. */
  readonly index?: Pick<DueIndex, 'opened' | 'closed'> | undefined;
  /** Reads what is due in an instance that nobody uses. */
  readonly readDue: (instance: Instance) => Promise<DueTimes>;
  /** The number of places; by default 512, or fewer where the process may open few files. */
  readonly openMax?: number | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** An instance that is open, opens, or waits for a place. */
interface Slot {
  readonly opening: Promise<Instance>;
  /** Whether it has a place, and does not wait for one. */
  isPlaced: boolean;
  instance: Instance | undefined;
  loans: number;
  lastUsedMs: number;
  /** Set once it is run elsewhere: it is closed when its last loan is released. */
  leaving: PromiseWithResolvers<void> | undefined;
  /** Set while its definitions may be outdated, another object each time. They are read again before it is lent. */
  outdated: object | undefined;
}

/**
 * The instances whose files are open: opened on demand, closed when idle, never more than there are places. Any instance that is not on
 * loan can be closed for another one, whatever it has to do later: this is remembered, here and in the index, and it is opened again then. When all are
 * on loan, the next instance waits in a queue until one is released, once for all of its requests. Deliveries and realtime clients, which
 * keep instances on loan for long, have a share of the places, so that some are left for requests.
 */
export class OpenInstances {
  readonly #options: OpenInstancesOptions;
  readonly #placesMax: number;
  /** By instance id. */
  readonly #slots = new Map<string, Slot>();
  readonly #closing = new Map<string, Promise<void>>();
  /** The places of instances that are open or opening. */
  #placesTaken = 0;
  readonly #waiting = new Set<PromiseWithResolvers<void>>();
  #timer: NodeJS.Timeout | undefined;
  #onClosed: (instanceId: string, times: DueTimes) => void = () => undefined;

  constructor(options: OpenInstancesOptions) {
    this.#options = options;
    this.#placesMax = options.openMax ?? placesOf(openFilesMax());
  }

  get openCount(): number {
    return this.#placesTaken;
  }

  /** Whether an instance can be opened without closing another. */
  get hasFreePlace(): boolean {
    return this.#waiting.size === 0 && this.#placesTaken < this.#placesMax;
  }

  isOpen(instanceId: string): boolean {
    return this.#slots.has(instanceId);
  }

  openIds(): readonly string[] {
    return [...this.#slots.keys()];
  }

  /** How many instances deliveries may keep on loan. */
  get deliveringMax(): number {
    return Math.max(1, Math.floor(this.#placesMax / 2));
  }

  /** How many instances realtime clients may keep on loan. */
  get realtimeMax(): number {
    return Math.max(1, Math.floor(this.#placesMax / 4));
  }

  /** Sets what is called with what is due in an instance that is closed. */
  onClosed(listener: (instanceId: string, times: DueTimes) => void): void {
    this.#onClosed = listener;
  }

  /** Begins to close idle instances from time to time. */
  startSweeping(): void {
    this.#timer = setInterval(() => this.#sweep(), sweepIntervalMs).unref();
  }

  /** Returns a loan if the instance is open, as it nearly always is; undefined when `borrow` would have to wait. */
  borrowOpen(instanceId: string): Loan | undefined {
    const slot = this.#slots.get(instanceId);
    if (slot?.instance === undefined || slot.outdated !== undefined) return undefined;
    return this.#lend(slot, slot.instance);
  }

  /** Opens the instance if need be. Throws unavailable when there is no place for too long. */
  borrow(entry: InstanceEntry): Promise<Loan> {
    return this.#borrow(this.#slots.get(entry.id) ?? this.#addSlot(entry));
  }

  /** As `borrow`, but does not wait for a place: throws unavailable at once. */
  async borrowAtOnce(entry: InstanceEntry): Promise<Loan> {
    const slot = this.#slots.get(entry.id);
    if (slot === undefined ? !this.#hasPlace() : !slot.isPlaced) throw busy();
    return this.#borrow(slot ?? this.#addSlot(entry));
  }

  /** Closes an instance unless it is on loan. */
  closeIdle(instanceId: string): void {
    const slot = this.#slots.get(instanceId);
    if (slot !== undefined && isIdle(slot)) this.#close(instanceId);
  }

  /** Closes an instance as soon as it is not on loan. */
  retire(instanceId: string): void {
    void this.leave(instanceId, 0);
  }

  /** Resolves when an instance that closes is closed. */
  async closed(instanceId: string): Promise<void> {
    await this.#closing.get(instanceId);
  }

  /**
   * Closes an instance that is run elsewhere from now on, as soon as its last loan is released. Resolves when it is closed; after `loansMs` also
   * while it is still on loan.
   */
  async leave(instanceId: string, loansMs: number): Promise<void> {
    const slot = this.#slots.get(instanceId);
    if (slot !== undefined && !isIdle(slot)) {
      slot.leaving ??= Promise.withResolvers();
      await atMost(loansMs, slot.leaving.promise);
    } else if (slot !== undefined) this.#close(instanceId);
    // What is closing has yet to be noted, and must not be noted after it is open elsewhere.
    await this.closed(instanceId);
  }

  /** Notes that an instance is run here again. One that was not closed meanwhile is read again before it is lent, as it may have changed. */
  comeBack(instanceId: string): void {
    const slot = this.#slots.get(instanceId);
    if (slot === undefined) return;
    slot.leaving?.resolve();
    slot.leaving = undefined;
    slot.outdated = {};
    // At once, for those who have it on loan. Where that fails, the next borrower tries again.
    void this.#borrow(slot).then(
      (loan) => loan.release(),
      () => undefined,
    );
  }

  async #borrow(slot: Slot): Promise<Loan> {
    slot.loans += 1;
    try {
      const instance = await slot.opening;
      if (slot.outdated !== undefined) await readAgain(slot, instance);
      return this.#lend(slot, instance);
    } finally {
      this.#giveBack(slot);
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const wait of this.#waiting) wait.reject(stopping());
    this.#waiting.clear();
    for (const id of this.#slots.keys()) this.#close(id);
    await Promise.all(this.#closing.values());
  }

  #lend(slot: Slot, instance: Instance): Loan {
    slot.loans += 1;
    let isOut = true;
    return {
      instance,
      release: () => {
        if (!isOut) return;
        isOut = false;
        this.#giveBack(slot);
      },
    };
  }

  #giveBack(slot: Slot): void {
    slot.loans -= 1;
    slot.lastUsedMs = this.#options.clock.monotonic();
    if (slot.loans > 0) return;
    if (slot.leaving !== undefined) this.#closeLeaving(slot, slot.leaving);
    this.#admit();
  }

  #closeLeaving(slot: Slot, leaving: PromiseWithResolvers<void>): void {
    const { instance } = slot;
    // When all stop it is closed already.
    if (instance !== undefined && this.#slots.get(instance.id) === slot) this.#close(instance.id);
    leaving.resolve();
  }

  #addSlot(entry: InstanceEntry): Slot {
    const opening = this.#open(entry, () => (slot.isPlaced = true));
    const slot: Slot = {
      opening,
      isPlaced: false,
      instance: undefined,
      loans: 0,
      lastUsedMs: this.#options.clock.monotonic(),
      leaving: undefined,
      outdated: undefined,
    };
    this.#slots.set(entry.id, slot);
    opening.then(
      (instance) => {
        slot.instance = instance;
      },
      () => {
        if (this.#slots.get(entry.id) === slot) this.#slots.delete(entry.id);
      },
    );
    return slot;
  }

  async #open(entry: InstanceEntry, onPlaced: () => void): Promise<Instance> {
    await this.#takePlace();
    onPlaced();
    // The same file must not be open twice: its writer would wait for itself.
    await this.closed(entry.id);
    // Nobody can write to it before both are done.
    const noted = this.#options.index?.opened(entry.id);
    try {
      const instance = await this.#options.open(entry);
      await noted;
      return instance;
    } catch (error) {
      this.#releasePlace();
      throw error;
    }
  }

  /** Whether an instance that is opened now would have a place at once. */
  #hasPlace(): boolean {
    if (this.#waiting.size > 0) return false;
    return (
      this.#placesTaken < this.#placesMax ||
      (this.#closing.size < closingMax && this.#oldestIdle() !== undefined)
    );
  }

  /** Resolves when a place is this instance's. Throws unavailable. */
  async #takePlace(): Promise<void> {
    const wait = Promise.withResolvers<void>();
    this.#waiting.add(wait);
    this.#admit();
    if (!this.#waiting.has(wait)) return;
    const timer = setTimeout(() => {
      if (this.#waiting.delete(wait)) wait.reject(busy());
    }, waitMsMax);
    await wait.promise.finally(() => clearTimeout(timer));
  }

  #releasePlace(): void {
    this.#placesTaken -= 1;
    this.#admit();
  }

  /** Assigns places to waiting instances, as long as some are free or an idle instance can be closed. */
  #admit(): void {
    for (const wait of this.#waiting) {
      if (this.#placesTaken >= this.#placesMax && !this.#closeOldest()) return;
      this.#waiting.delete(wait);
      this.#placesTaken += 1;
      wait.resolve();
    }
  }

  /** Returns whether there was an idle instance, whose place is now free. */
  #closeOldest(): boolean {
    const oldest = this.#closing.size < closingMax ? this.#oldestIdle() : undefined;
    if (oldest !== undefined) this.#close(oldest);
    return oldest !== undefined;
  }

  #oldestIdle(): string | undefined {
    let oldest: [id: string, slot: Slot] | undefined;
    for (const [id, slot] of this.#slots)
      if (isIdle(slot) && (oldest === undefined || slot.lastUsedMs < oldest[1].lastUsedMs))
        oldest = [id, slot];
    return oldest?.[0];
  }

  #sweep(): void {
    const before = this.#options.clock.monotonic() - idleMs;
    for (const [id, slot] of this.#slots) if (slot.lastUsedMs < before && isIdle(slot)) this.#close(id);
  }

  /** Closes an instance, whose place is free from now on. */
  #close(id: string): void {
    const slot = this.#slots.get(id);
    this.#slots.delete(id);
    if (slot?.instance !== undefined) this.#placesTaken -= 1;
    const closing = Promise.resolve(slot?.opening)
      // Its borrowers have got the error of the opening.
      .catch(() => undefined)
      .then((instance) => instance && this.#stop(instance))
      .catch((error: unknown) => {
        this.#options.logger.error('An instance did not close cleanly.', { instance: id, error });
      })
      .finally(() => {
        this.#closing.delete(id);
        this.#admit();
      });
    this.#closing.set(id, closing);
  }

  async #stop(instance: Instance): Promise<void> {
    const { index } = this.#options;
    if (index === undefined) return instance.stop();
    await index.closed(instance.id, async () => {
      const times = await this.#readDue(instance);
      await instance.stop();
      return times;
    });
  }

  async #readDue(instance: Instance): Promise<DueTimes> {
    const { readDue, logger } = this.#options;
    try {
      const times = await readDue(instance);
      this.#onClosed(instance.id, times);
      return times;
    } catch (error) {
      logger.warn('Due work of an instance could not be read; the next start opens it.', {
        instance: instance.id,
        error,
      });
      return atOnce;
    }
  }
}

async function readAgain(slot: Slot, { refresh }: Instance): Promise<void> {
  while (slot.outdated !== undefined) {
    const { outdated } = slot;
    await refresh();
    // It may have left and come back in between.
    if (slot.outdated === outdated) slot.outdated = undefined;
  }
}

function isIdle({ loans, instance }: Slot): boolean {
  return loans === 0 && instance !== undefined;
}

/** The rest is for connections of clients and receivers. */
function placesOf(files: number): number {
  return Math.min(openMaxDefault, Math.max(openMaxLeast, Math.floor(files / 4 / filesEach)));
}
