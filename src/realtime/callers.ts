import { type Caller, guest } from '../access/caller.ts';
import { authenticate } from '../auth/authenticate.ts';
import { AppError } from '../base/errors.ts';
import { addressBytes } from '../base/ip-address.ts';
import type { Instance } from '../instances/instance.ts';
import { isInRanges } from '../settings/settings.ts';
import type { Client } from './client.ts';

/** For how long a caller is taken for who it was: a change of a password takes effect within this time. */
const knownMs = 500;
/** Credentials that are remembered. */
const knownMax = 20_000;

/** Who the clients of an instance are now, by the credentials with which they have subscribed. */
export class Callers {
  readonly #instance: Instance;
  readonly #known = new Map<string, { readonly caller: Promise<Caller>; readonly atMs: number }>();

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  /** Returns who a client is. One whose credentials are not valid any more is a guest. */
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
    const known = this.#known.get(authorization);
    if (known !== undefined && nowMs < known.atMs + knownMs) return known.caller;
    if (this.#known.size >= knownMax) this.#known.clear();
    const caller = authenticate(this.#instance, authorization).catch((error: unknown) => {
      // A key that was revoked or has expired.
      if (error instanceof AppError && error.code === 'unauthorized') return guest;
      this.#known.delete(authorization);
      throw error;
    });
    this.#known.set(authorization, { caller, atMs: nowMs });
    return caller;
  }
}
