import { systemClock } from './clock.ts';
import { busy } from './errors.ts';
import { FairLine, type Share } from './fair-line.ts';

export interface LedgerOptions {
  /** The total amount, such as bytes. */
  readonly max: number;
  /** How long a request waits before it is refused. */
  readonly waitMsMax?: number;
  /** For how long a holding must not have moved before it is given up for another of its instance. */
  readonly idleMs?: number;
}

/** An amount that a caller holds. */
export interface Holding {
  readonly share: Share;
  readonly amount: number;
}

interface OwnHolding extends Holding {
  amount: number;
  /** When the amount was last changed. */
  movedMs: number;
  /** Begins to end the holding; undefined for one that ends soon by itself. */
  giveUp: (() => void) | undefined;
  isEnding: boolean;
}

interface QueuedClaim {
  readonly share: Share;
  readonly amount: number;
  readonly admit: (holding: Holding) => void;
  readonly leave: () => void;
}

interface InstanceHoldings {
  amount: number;
  /** Oldest first. */
  readonly holdings: Set<OwnHolding>;
}

/** While others hold some as well, an instance has at most this part. */
const sharesOfAll = 4;
const lineLimits = { waitingMax: 10_000, waitingOfInstanceMax: 2_500, waitingOfAddressMax: 2_500 };
/** How often waiting requests are checked while nothing is released. */
const lookMs = 100;

/**
 * Allocates a scarce resource of the process, such as memory for answers, before it is used. One instance alone may have all of
 * it; while others hold some as well, at most a quarter. A request that finds too little waits in a {@link FairLine} for a bounded time. No request
 * waits while holding some: a holding that cannot grow is refused, so every waiting request is served or refused in the end.
 */
export class Ledger {
  readonly #options: Required<LedgerOptions>;
  readonly #instances = new Map<string, InstanceHoldings>();
  readonly #line = new FairLine<QueuedClaim>(lineLimits);
  #amount = 0;
  /** Of holdings that were given up and have not ended yet. */
  #ending = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LedgerOptions) {
    this.#options = { waitMsMax: 5_000, idleMs: 1_000, ...options };
  }

  /** Of all holdings together. */
  get amount(): number {
    return this.#amount;
  }

  get waiting(): number {
    return this.#line.length;
  }

  amountOf(instance: string): number {
    return this.#instances.get(instance)?.amount ?? 0;
  }

  /** How much an instance may have now. */
  shareOf(instance: string): number {
    const others = this.#instances.size - (this.#instances.has(instance) ? 1 : 0);
    return others === 0 ? this.#options.max : Math.floor(this.#options.max / sharesOfAll);
  }

  /** Waits until there is so much for this share. Rejects with Busy after too long, or where too many wait. */
  async hold(share: Share, amount: number): Promise<Holding> {
    // It would wait in vain.
    if (amount > this.#options.max) throw busy();
    const holding = this.#line.length === 0 ? this.tryToHold(share, amount) : undefined;
    if (holding !== undefined) return holding;
    const turn = Promise.withResolvers<Holding>();
    const leave = (): void => {
      this.#line.remove(share, waiting);
      turn.reject(busy());
    };
    const waiting: QueuedClaim = { share, amount, admit: turn.resolve, leave };
    const displaced = this.#line.add(share, waiting);
    if (displaced === waiting) throw busy();
    displaced?.leave();
    const timer = setTimeout(leave, this.#options.waitMsMax);
    share.signal?.addEventListener('abort', leave, { once: true });
    this.#serve();
    try {
      return await turn.promise;
    } finally {
      clearTimeout(timer);
      share.signal?.removeEventListener('abort', leave);
    }
  }

  /** Returns undefined where there is not so much now. */
  tryToHold(share: Share, amount: number): Holding | undefined {
    if (!this.#fits(share.instance, amount)) return undefined;
    const holding = this.#begin(share);
    this.#change(holding, amount);
    return holding;
  }

  /** Returns an empty holding, which is then set to an amount that is already in use. */
  holdAnyway(share: Share): Holding {
    return this.#begin(share);
  }

  #begin(share: Share): OwnHolding {
    const own = this.#instances.get(share.instance) ?? { amount: 0, holdings: new Set<OwnHolding>() };
    this.#instances.set(share.instance, own);
    const movedMs = systemClock.monotonic();
    const holding: OwnHolding = { share, amount: 0, movedMs, giveUp: undefined, isEnding: false };
    own.holdings.add(holding);
    return holding;
  }

  /** Makes a holding larger. Returns false, and changes nothing, where there is not so much now. */
  grow(holding: Holding, by: number): boolean {
    const own = this.#find(holding);
    // Its only holding may grow beyond the share of an instance, as its first one may.
    const isOnly = own !== undefined && this.amountOf(holding.share.instance) === own.amount;
    if (
      own === undefined ||
      !(isOnly ? this.#amount + by <= this.#options.max : this.#fits(own.share.instance, by))
    )
      return false;
    this.#change(own, by);
    return true;
  }

  /** Makes a holding smaller, or larger where that is certain already: it is then the truth, whatever the limit is. */
  set(holding: Holding, amount: number): void {
    const own = this.#find(holding);
    if (own === undefined) return;
    const by = amount - own.amount;
    this.#change(own, by);
    if (by < 0) this.#serve();
    // For what is there already, any other of the instance is given up.
    else this.#reclaim(own.share.instance, 0);
  }

  /**
   * Lets a holding be given up when others need what it has: `giveUp` begins to end it, and it is released once that is done. It counts
   * as moved when its amount changes.
   */
  offer(holding: Holding, giveUp: () => void): void {
    const own = this.#find(holding);
    if (own === undefined) return;
    own.giveUp = giveUp;
    own.movedMs = systemClock.monotonic();
    this.#serve();
  }

  /** Ends a holding, if it has not ended yet. */
  release(holding: Holding): void {
    const own = this.#find(holding);
    if (own === undefined) return;
    const { instance } = own.share;
    const all = this.#instances.get(instance);
    this.#change(own, -own.amount);
    all?.holdings.delete(own);
    if (all?.holdings.size === 0) this.#instances.delete(instance);
    this.#serve();
  }

  #find(holding: Holding): OwnHolding | undefined {
    // Its sets hold only objects that this ledger has made.
    const own = holding as OwnHolding;
    return this.#instances.get(holding.share.instance)?.holdings.has(own) === true ? own : undefined;
  }

  /** An instance that has nothing is bounded only by what there is: else a larger request could never be served beside others. */
  #fits(instance: string, amount: number): boolean {
    if (this.#amount + amount > this.#options.max) return false;
    const own = this.amountOf(instance);
    return own === 0 || own + amount <= this.shareOf(instance);
  }

  #change(holding: OwnHolding, by: number): void {
    holding.amount += by;
    holding.movedMs = systemClock.monotonic();
    this.#amount += by;
    if (holding.isEnding) this.#ending += by;
    const all = this.#instances.get(holding.share.instance);
    if (all !== undefined) all.amount += by;
  }

  /** Admits waiting requests, as far as there is enough for them. */
  #serve(): void {
    for (;;) {
      const next = this.#line.next((instance, { amount }) => this.#fits(instance, amount));
      const holding = next && this.tryToHold(next.share, next.amount);
      if (next === undefined || holding === undefined) break;
      next.admit(holding);
    }
    if (this.#line.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    for (const { share, amount } of this.#line.first()) this.#reclaim(share.instance, amount);
    this.#timer ??= setInterval(() => this.#serve(), lookMs);
  }

  /**
   * Gives up holdings until there is enough for an instance: for what it has already (`amount` is 0), or for one of its requests that
   * waits. Only those that have not moved for a while are given up for the latter, unless their instance has more than its share.
   */
  #reclaim(instance: string, amount: number): void {
    const { max } = this.#options;
    for (;;) {
      const own = this.amountOf(instance);
      const isLacking = this.#amount - this.#ending + amount > max;
      const isOverShare = own > 0 && amount > 0 && own + amount > this.shareOf(instance);
      if (!isLacking && !isOverShare) return;
      const victim = this.#findVictim(instance, { isCertain: amount === 0, isOwn: !isLacking });
      if (victim === undefined) return;
      victim.isEnding = true;
      this.#ending += victim.amount;
      victim.giveUp?.();
      if (!isLacking) return;
    }
  }

  /** Returns the oldest holding of the instance that has most, as far as it can be given up. */
  #findVictim(
    instance: string,
    { isCertain, isOwn }: { readonly isCertain: boolean; readonly isOwn: boolean },
  ): OwnHolding | undefined {
    const { max, idleMs } = this.#options;
    const idleSinceMs = systemClock.monotonic() - idleMs;
    const own = this.amountOf(instance);
    const larger = [...this.#instances]
      .filter(([id, { amount }]) => id === instance || (!isOwn && amount > own))
      .toSorted(([, one], [, other]) => other.amount - one.amount);
    for (const [id, { amount, holdings }] of larger) {
      const isOver = id !== instance && amount > max / sharesOfAll;
      for (const holding of holdings) {
        if (holding.giveUp === undefined || holding.isEnding) continue;
        if (isCertain || isOver || holding.movedMs <= idleSinceMs) return holding;
      }
    }
    return undefined;
  }
}
