import { AppError, tooManyRequests } from '../base/errors.ts';
import { clientKey } from './rate-limiter.ts';
import { type Count, type CountedInstance, SharedCounter } from './shared-counter.ts';
import type { Limit } from './window-counter.ts';

/** How many wrong passwords are accepted; docs/settings.md repeats these numbers and explains their effect. */
export const signInLimits = {
  windowMs: 5 * 60_000,
  /** For one account from one client. More than sign in at once there, as each try counts until it turns out to be right. */
  accountFromClientMax: 50,
  /** For one client and all accounts, as passwords that leaked elsewhere are tried on many. */
  clientMax: 200,
  /** For one account from all clients, except clients that have signed in to it before. */
  accountMax: 500,
} as const;

export interface SignInAttempt {
  readonly instance: CountedInstance;
  /**
   * The counted names: the name as it was sent, even of no account, and then the account that has it, if there is one. Without the
   * first, a spelling that is no account's would reveal by its own count that another spelling is. Without the second, an account with
   * two names could be guessed at twice as often.
   */
  readonly accounts: readonly string[];
  readonly address: Uint8Array;
}

/** Guards sign-ins, always: no client can guess an account's password by trying, or lock its owner out by doing so. */
export class SignInGuard {
  readonly #pairs = new SharedCounter({ kind: 'sign-in to an account' });
  readonly #clients = new SharedCounter({ kind: 'sign-in of a client' });
  readonly #accounts = new SharedCounter({ kind: 'sign-in to an account by all' });
  /** Clients that have signed in to an account through this node, in the order in which they first did. */
  readonly #knownClients = new Set<string>();

  /** Runs a sign-in, and counts it if the credentials were refused. Throws too_many_requests without running it. */
  async run<Result>(attempt: SignInAttempt, signIn: () => Promise<Result>): Promise<Result> {
    const counted = await countTry(attempt.instance, this.#countsOf(attempt));
    if (counted.kind === 'full') throw tooManyRequests(counted.resetSeconds);
    try {
      const result = await signIn();
      await counted.refund();
      this.#remember(pairOf(attempt));
      return result;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'bad_request') await counted.refund();
      throw error;
    }
  }

  #countsOf(attempt: SignInAttempt): readonly Countable[] {
    const { accounts, address } = attempt;
    const { windowMs: durationMs, accountFromClientMax, clientMax, accountMax } = signInLimits;
    const client = clientKey(address);
    const ofClient = { counter: this.#clients, key: client, limit: { max: clientMax, durationMs } };
    const ofPairs = accounts.map((account) => {
      const limit = { max: accountFromClientMax, durationMs };
      return { counter: this.#pairs, key: `${client}|${account}`, limit };
    });
    const ofAccounts = accounts.map((account) => {
      return { counter: this.#accounts, key: account, limit: { max: accountMax, durationMs } };
    });
    return [ofClient, ...ofPairs, ...(this.#knownClients.has(pairOf(attempt)) ? [] : ofAccounts)];
  }

  #remember(pair: string): void {
    const [first] = this.#knownClients;
    if (first !== undefined && this.#knownClients.size >= clientsMax) this.#knownClients.delete(first);
    this.#knownClients.add(pair);
  }
}

/** Clients that are remembered, about 200 bytes each. */
const clientsMax = 50_000;

/** Of the client and the account itself, however it was named. */
function pairOf({ instance, accounts, address }: SignInAttempt): string {
  return `${instance.id}|${clientKey(address)}|${accounts.at(-1)}`;
}

export interface Guess {
  readonly counts: readonly Countable[];
  readonly verify: () => Promise<boolean>;
  /** Makes the error for too many wrong guesses; no other guess is accepted for so many seconds. */
  readonly refusal?: (seconds: number) => Error;
}

/** Returns whether a guess is right, and counts wrong ones. After too many of these it throws without verifying the guess. */
export async function countGuess(
  instance: CountedInstance,
  { counts, verify, refusal = tooManyRequests }: Guess,
): Promise<boolean> {
  const counted = await countTry(instance, counts);
  if (counted.kind === 'full') throw refusal(counted.resetSeconds);
  let isWrong = false;
  try {
    isWrong = !(await verify());
    return !isWrong;
  } finally {
    // A guess that could not be verified does not count either.
    if (!isWrong) await counted.refund();
  }
}

/** One of the counters that a try counts in, with its key and limit. */
interface Countable {
  readonly counter: SharedCounter;
  readonly key: string;
  readonly limit: Limit;
}

export type CountedTry =
  /** `refund` reverses the count when the try turns out not to count. */
  | { readonly kind: 'counted'; readonly refund: () => Promise<void> }
  /** No try is accepted for so many seconds at least. */
  | { readonly kind: 'full'; readonly resetSeconds: number };

/**
 * Counts a try before its outcome is known: otherwise concurrent tries could all pass before one of them is counted. `counts` must
 * begin with the one that most clients share: where nodes share windows, a try that it refuses leaves no trace in the rest.
 */
export async function countTry(instance: CountedInstance, counts: readonly Countable[]): Promise<CountedTry> {
  const full = counts.map(({ counter, key, limit }) => counter.fullSeconds(instance, key, limit) ?? 0);
  const resetSeconds = Math.max(...full);
  if (resetSeconds > 0) return { kind: 'full', resetSeconds };
  const results: Count[] = [];
  const refund = async (): Promise<void> => {
    await Promise.all(results.map((one) => one.refund()));
  };
  for (const { counter, key, limit } of counts) {
    const pending = counter.take(instance, key, limit);
    // Awaited only if it must be: with no other nodes, all counts are taken in the same turn of the loop as the look above.
    const count = pending instanceof Promise ? await pending : pending;
    if (!count.isAllowed) {
      await refund();
      return { kind: 'full', resetSeconds: count.resetSeconds };
    }
    results.push(count);
  }
  return { kind: 'counted', refund };
}
