import { Resolver } from 'node:dns/promises';
import { codeOf } from '../base/process.ts';
import { ConnectFailure } from './open-socket.ts';
import { isLocalhostName, withoutRootDot } from './address-guard.ts';

const lookupMsMax = 5_000;
/** c-ares doubles its time-out with each try: 1.5 s and 3 s together stay below the maximum. */
const FIRST_TRY_MS = 1_500;
const TRIES = 2;

export interface HostResolverOptions {
  /** Name servers such as `127.0.0.1:5353`, used instead of the system's, for tests. */
  readonly servers?: readonly string[] | undefined;
}

/**
 * Resolves names through c-ares: `getaddrinfo` would occupy a thread of the pool for each silent name server, and a few of those
 * would block every file operation of the process. The hosts file is not read.
 */
export class HostResolver {
  readonly #resolver = new Resolver({ timeout: FIRST_TRY_MS, tries: TRIES });
  /** Lookups under way, by name: attempts that start together share one. Nothing is kept after the answer. */
  readonly #pending = new Map<string, Promise<readonly string[]>>();

  constructor(options: HostResolverOptions = {}) {
    if (options.servers !== undefined) this.#resolver.setServers(options.servers);
  }

  /** Returns every address of the name, IPv4 first. Rejects with a {@link ConnectFailure} when there is none. */
  resolve(name: string): Promise<readonly string[]> {
    if (isLocalhostName(name)) return Promise.resolve(['127.0.0.1', '::1']);
    const key = withoutRootDot(name);
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    const lookup = this.#lookup(key).finally(() => this.#pending.delete(key));
    this.#pending.set(key, lookup);
    return lookup;
  }

  stop(): void {
    this.#resolver.cancel();
  }

  async #lookup(name: string): Promise<readonly string[]> {
    const giveUp = Promise.withResolvers<never>();
    const timer = setTimeout(() => giveUp.reject(new Error('no answer')), lookupMsMax);
    const answers = await Promise.allSettled([
      Promise.race([this.#resolver.resolve4(name), giveUp.promise]),
      Promise.race([this.#resolver.resolve6(name), giveUp.promise]),
    ]);
    clearTimeout(timer);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length === 0) throw failureOf(answers);
    return addresses;
  }
}

function failureOf(answers: readonly PromiseSettledResult<readonly string[]>[]): ConnectFailure {
  const errors = answers
    .filter((answer) => answer.status === 'rejected')
    .map(({ reason }): unknown => reason);
  const isAbsent = errors.every((error) => ['ENOTFOUND', 'ENODATA'].includes(codeOf(error)));
  const message = isAbsent ? 'The host name has no address.' : 'The host name could not be resolved.';
  return new ConnectFailure('dns', message, errors[0]);
}
