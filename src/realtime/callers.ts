import { type Caller, guest } from '../access/caller.ts';
import { authenticate } from '../auth/authenticate.ts';
import { AppError } from '../base/errors.ts';
import { addressBytes } from '../base/ip-address.ts';
import type { Instance } from '../instances/instance.ts';
import { isInRanges } from '../settings/settings.ts';
import type { Client } from './client.ts';

/** How long a caller is cached: a change of a password takes effect within this time. */
const cacheMs = 500;
/** Cached credentials. */
const cacheMax = 20_000;

/** Authenticates the clients of an instance again, by the credentials with which they have subscribed. */
export class Callers {
  readonly #instance: Instance;
  readonly #cache = new Map<string, { readonly caller: Promise<Caller>; readonly atMs: number }>();

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  /** Returns the caller of a client. A client whose credentials are no longer valid is a guest. */
  async of({ authorization, address }: Pick<Client, 'authorization' | 'address'>): Promise<Caller> {
    if (authorization === undefined) return guest;
    const caller = await this.#find(authorization);
    return caller.kind === 'superuser' && !this.#mayBeSuperuser(address) ? guest : caller;
  }

  #mayBeSuperuser(address: string): boolean {
    const { superuserIPs } = this.#instance.settings.current;
    const bytes = addressBytes(address);
    return superuserIPs.length === 0 || (bytes !== null && isInRanges(bytes, superuserIPs));
  }

  #find(authorization: string): Promise<Caller> {
    const nowMs = this.#instance.clock.monotonic();
    const cached = this.#cache.get(authorization);
    if (cached !== undefined && nowMs < cached.atMs + cacheMs) return cached.caller;
    if (this.#cache.size >= cacheMax) this.#cache.clear();
    const caller = authenticate(this.#instance, authorization).catch((error: unknown) => {
      // A key that was revoked or has expired.
      if (error instanceof AppError && error.code === 'unauthorized') return guest;
      this.#cache.delete(authorization);
      throw error;
    });
    this.#cache.set(authorization, { caller, atMs: nowMs });
    return caller;
  }
}
