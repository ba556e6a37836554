import type { Caller } from '../access/caller.ts';
import { AppError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';

export interface ConnectionLimits {
  /** Of an instance. */
  readonly connectionsMax: number;
  /** Of guests from one address. */
  readonly connectionsPerAddressMax: number;
}

export interface CountedConnection {
  readonly address: string;
  /** Whom it is counted for: its address, or whoever has signed in on it. */
  holder: string;
}

/** Connections of one account, superuser or API key. */
const connectionsPerAccountMax = 100;
/** How often refusals are logged: a client that is refused tries again and again. */
const logIntervalMs = 60_000;

/**
 * Counts the connections of an instance. One begins as that of a guest and counts for its address, as EventSource sends no credentials; once
 * somebody signs in on it, it counts for the account: thousands of accounts behind one proxy have a share each.
 */
export class ConnectionCounts {
  readonly #limits: ConnectionLimits;
  readonly #log: (message: string) => void;
  readonly #nowMs: () => number;
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
    }: { readonly logger: Logger; readonly instance: string; readonly nowMs: () => number },
  ) {
    this.#limits = limits;
    this.#log = (message) => logger.warn(message, { instance });
    this.#nowMs = nowMs;
  }

  /** Throws too_many_requests where another connection from the address is one too many. */
  requireRoom(address: string): void {
    const { connectionsMax, connectionsPerAddressMax } = this.#limits;
    if (this.#total >= connectionsMax) this.#refuse('the instance');
    if (this.#of(address) >= connectionsPerAddressMax) this.#refuse('one address');
  }

  add(address: string): CountedConnection {
    this.#total += 1;
    change(this.#counts, address, 1);
    change(this.#addresses, address, 1);
    return { address, holder: address };
  }

  remove({ address, holder }: CountedConnection): void {
    this.#total -= 1;
    change(this.#counts, holder, -1);
    change(this.#addresses, address, -1);
  }

  /** Counts a connection for whoever is on it now. Throws too_many_requests where that has too many. */
  assign(connection: CountedConnection, caller: Caller): void {
    const holder = holderOf(caller) ?? connection.address;
    if (holder === connection.holder) return;
    const isAccount = holder !== connection.address;
    const max = isAccount ? connectionsPerAccountMax : this.#limits.connectionsPerAddressMax;
    if (this.#of(holder) >= max) this.#refuse(isAccount ? 'one account' : 'one address');
    change(this.#counts, connection.holder, -1);
    change(this.#counts, holder, 1);
    connection.holder = holder;
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
      this.#log(`Realtime connections are refused: there are too many of ${whose}.${hint}`);
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
