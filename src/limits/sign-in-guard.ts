import { AppError, tooManyRequests } from '../base/errors.ts';
import type { Counting } from './window-store.ts';
import { clientKey, secondsUntil } from './rate-limiter.ts';
import { SharedCounter, type SharedLimit } from './shared-counter.ts';
import type { Window } from './window-counter.ts';

/** How many wrong passwords are accepted; docs/settings.md repeats these numbers and says what follows from them. */
export const signInLimits = {
  windowMs: 5 * 60_000,
  /** For one account from one client. More than sign in at once there, as each try counts until it turns out to be right. */
  accountFromClientMax: 50,
  /** For one client and all accounts, as passwords that leaked elsewhere are tried on many. */
  clientMax: 200,
  /** For one account from all clients, except those that have signed in to it before. */
  accountMax: 500,
} as const;

/** Keys of each counter; about 200 bytes each. */
const keysMax = 50_000;

export interface SignInAttempt extends Counting {
  readonly instanceId: string;
  /**
   * What is counted: the name as it was given, even of no account, and then the account that has it, if there is one. Without the
   * first, a spelling that is no account's would tell by its own count that another spelling is. Without the second, an account with
   * two names could be guessed at twice as often.
   */
  readonly accounts: readonly string[];
  readonly address: Uint8Array;
}

/** Guards sign-ins, always: nobody can guess an account's password by trying, or lock its owner out by doing so. */
export class SignInGuard {
  readonly #pairs = new SharedCounter({ kind: 'sign-in to an account', keysMax });
  readonly #clients = new SharedCounter({ kind: 'sign-in of a client', keysMax });
  readonly #accounts = new SharedCounter({ kind: 'sign-in to an account by all', keysMax });
  /** Clients that have signed in to an account through this node, in the order in which they first did. */
  readonly #known = new Set<string>();

  /** Runs a sign-in, and counts it if the credentials were refused. Throws too_many_requests without running it. */
  async run<Result>(attempt: SignInAttempt, signIn: () => Promise<Result>): Promise<Result> {
    const counted = await countTry(this.#countsOf(attempt));
    if (counted.kind === 'full') throw tooManyRequests(secondsUntil(counted.endMs, attempt.nowMs));
    try {
      const result = await signIn();
      await counted.giveBack();
      this.#remember(pairOf(attempt));
      return result;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'bad_request') await counted.giveBack();
      throw error;
    }
  }

  #countsOf(attempt: SignInAttempt): readonly Count[] {
    const { instanceId, accounts, address, nowMs, store } = attempt;
    const { windowMs: durationMs, accountFromClientMax, clientMax, accountMax } = signInLimits;
    const limit = (max: number): SharedLimit => ({ max, durationMs, nowMs, store });
    const client = `${instanceId}|${clientKey(address)}`;
    const ofClient = { counter: this.#clients, key: client, limit: limit(clientMax) };
    const ofPairs = accounts.map((account) => {
      const key = `${client}|${account}`;
      return { counter: this.#pairs, key, limit: limit(accountFromClientMax) };
    });
    const ofAccounts = accounts.map((account) => {
      const key = `${instanceId}|${account}`;
      return { counter: this.#accounts, key, limit: limit(accountMax) };
    });
    return [ofClient, ...ofPairs, ...(this.#known.has(pairOf(attempt)) ? [] : ofAccounts)];
  }

  #remember(pair: string): void {
    const [first] = this.#known;
    if (first !== undefined && this.#known.size >= keysMax) this.#known.delete(first);
    this.#known.add(pair);
  }
}

/** Of the client and the account itself, however it was named. */
function pairOf({ instanceId, accounts, address }: SignInAttempt): string {
  return `${instanceId}|${clientKey(address)}|${accounts.at(-1)}`;
}

export interface Guess {
  readonly counts: readonly Count[];
  readonly verify: () => Promise<boolean>;
  /** Makes the error for too many wrong guesses; no other guess is accepted until `endMs` (milliseconds since 1970). */
  readonly refusal: (endMs: number) => Error;
}

/** Returns whether a guess is right, and counts wrong ones. After too many of these it throws without verifying the guess. */
export async function countGuess({ counts, verify, refusal }: Guess): Promise<boolean> {
  const counted = await countTry(counts);
  if (counted.kind === 'full') throw refusal(counted.endMs);
  let isWrong = false;
  try {
    isWrong = !(await verify());
    return !isWrong;
  } finally {
    // A guess that could not be verified does not count either.
    if (!isWrong) await counted.giveBack();
  }
}

/** One of the counters that a try counts in, with its key and limit. */
interface Count {
  readonly counter: SharedCounter;
  readonly key: string;
  readonly limit: SharedLimit;
}

export type CountedTry =
  /** `giveBack` takes the try back when it turns out not to count. */
  | { readonly kind: 'counted'; readonly giveBack: () => Promise<void> }
  /** No try is accepted until `endMs` at least. */
  | { readonly kind: 'full'; readonly endMs: number };

/**
 * Counts a try before its outcome is known: otherwise concurrent tries could all pass before one of them is counted. `counts` must
 * begin with the one that most clients share: where other nodes have to be asked, a try that it refuses leaves no trace in the rest.
 */
export async function countTry(counts: readonly Count[]): Promise<CountedTry> {
  const full = counts
    .map(({ counter, key, limit }) => counter.look(key, limit))
    .filter((window) => window?.isAllowed === false);
  if (full.length > 0) return { kind: 'full', endMs: Math.max(...full.map((window) => window?.endMs ?? 0)) };
  const taken: (() => Promise<void>)[] = [];
  const giveBack = async (): Promise<void> => {
    await Promise.all(taken.map((one) => one()));
  };
  for (const { counter, key, limit } of counts) {
    const asked: Window | Promise<Window> = counter.take(key, limit);
    // Awaited only if it must be: with no other nodes, all counts are taken in the same turn of the loop as the look above.
    const { isAllowed, endMs } = asked instanceof Promise ? await asked : asked;
    if (!isAllowed) {
      await giveBack();
      return { kind: 'full', endMs };
    }
    taken.push(() => counter.giveBack(key, endMs, limit.store));
  }
  return { kind: 'counted', giveBack };
}
