import type { Caller } from '../access/caller.ts';
import { AppError, QuotaExceeded } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';

export interface ConnectionLimits {
  /** Of an instance. */
  readonly connectionsMax: number;
  /** Of guests from one address. */
  readonly connectionsPerAddressMax: number;
}

export interface QuotaEntry {
  readonly address: string;
  /** The address, account, superuser or API key whose quota it counts against. */
  holder: string;
}

/** Connections of one account, superuser or API key. */
const connectionsPerAccountMax = 100;
/** How often rejections are logged: a rejected client retries again and again. */
const logIntervalMs = 60_000;

/**
 * Counts the connections of an instance. One begins as that of a guest and counts for its address, as EventSource sends no credentials; once
 * somebody signs in on it, it counts for the account: thousands of accounts behind one proxy have a share each.
 */
export class ConnectionCounts {
  readonly #limits: ConnectionLimits;
  readonly #log: (message: string) => void;
  readonly #nowMs: () => number;
  readonly #quota: () => number | undefined;
  readonly #counts = new Map<string, number>();
  readonly #addresses = new Map<string, number>();
  #total = 0;
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    limits: ConnectionLimits,
    {
      logger,
      instance,
      nowMs,
      quota = () => undefined,
    }: {
      readonly logger: Logger;
      readonly instance: string;
      readonly nowMs: () => number;
      /** What the operator lets the instance have. */
      readonly quota?: () => number | undefined;
    },
  ) {
    this.#limits = limits;
    this.#log = (message) => logger.warn(message, { instance });
    this.#nowMs = nowMs;
    this.#quota = quota;
  }

  /** Throws too_many_requests where another connection from the address is one too many. */
  requireQuota(address: string): void {
    const { connectionsMax, connectionsPerAddressMax } = this.#limits;
    if (this.#total >= (this.#quota() ?? Number.POSITIVE_INFINITY))
      throw new QuotaExceeded('realtimeConnections', { code: 'too_many_requests', retryAfter: 5 });
    if (this.#total >= connectionsMax) this.#refuse('the instance');
    if (this.#of(address) >= connectionsPerAddressMax) this.#refuse('one address');
  }

  add(address: string): QuotaEntry {
    this.#total += 1;
    change(this.#counts, address, 1);
    change(this.#addresses, address, 1);
    return { address, holder: address };
  }

  remove({ address, holder }: QuotaEntry): void {
    this.#total -= 1;
    change(this.#counts, holder, -1);
    change(this.#addresses, address, -1);
  }

  /** Counts a connection against the quota of its caller. Throws too_many_requests where that is used up. */
  assign(entry: QuotaEntry, caller: Caller): void {
    const holder = holderOf(caller) ?? entry.address;
    if (holder === entry.holder) return;
    const isAccount = holder !== entry.address;
    const max = isAccount ? connectionsPerAccountMax : this.#limits.connectionsPerAddressMax;
    if (this.#of(holder) >= max) this.#refuse(isAccount ? 'one account' : 'one address');
    change(this.#counts, entry.holder, -1);
    change(this.#counts, holder, 1);
    entry.holder = holder;
  }

  #of(holder: string): number {
    return this.#counts.get(holder) ?? 0;
  }

  #refuse(whose: string): never {
    const nowMs = this.#nowMs();
    if (nowMs - this.#loggedAtMs >= logIntervalMs) {
      this.#loggedAtMs = nowMs;
      const isOneAddress = this.#addresses.size === 1 && this.#total > 1;
      const hint = isOneAddress
        ? ' All come from one address: if that is a proxy, name it with --trusted-proxies or the setting trustedProxy.'
        : '';
      this.#log(`Realtime connections are rejected: there are too many of ${whose}.${hint}`);
    }
    throw new AppError('too_many_requests', 'There are too many realtime connections.', { retryAfter: 5 });
  }
}

function holderOf(caller: Caller): string | undefined {
  if (caller.kind === 'guest') return undefined;
  return caller.kind === 'user' ? `${caller.collectionId}/${caller.id}` : `superuser/${caller.id}`;
}

function change(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
