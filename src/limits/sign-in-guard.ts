import { AppError } from '../base/errors.ts';
import { clientKey } from './client-key.ts';
import { tooManyRequests } from './rate-limiter.ts';
import { secondsUntil } from './seconds-until.ts';
import { WindowCounter, type WindowLimit } from './window-counter.ts';

/** How many wrong passwords are taken; docs/settings.md repeats these numbers, with what follows from them. */
export const signInLimits = {
  windowMs: 5 * 60_000,
  /** One account from one client. More than sign in at once: each is counted until it is known to be right. */
  accountFromClientMax: 50,
  /** One client, whatever the accounts: passwords that leaked elsewhere are tried on many. */
  clientMax: 200,
  /** One account from all clients but those that have signed in to it before. */
  accountMax: 500,
} as const;

/** Of each kind; about 200 bytes each. */
const keysMax = 50_000;

export interface SignInAttempt {
  readonly instanceId: string;
  /** Tells accounts apart, those that do not exist too. */
  readonly account: string;
  readonly address: Uint8Array;
  readonly nowMs: number;
}

/** Always on: an account's password cannot be guessed by trying, and trying does not shut its owner out. */
export class SignInGuard {
  readonly #pairs = new WindowCounter(keysMax);
  readonly #clients = new WindowCounter(keysMax);
  readonly #accounts = new WindowCounter(keysMax);
  /** Clients that have signed in to an account, in the order in which they first did. */
  readonly #known = new Set<string>();

  /** Runs a sign-in and counts it if it was refused for what was given. Throws too_many_requests before it is run. */
  async run<Result>(attempt: SignInAttempt, signIn: () => Promise<Result>): Promise<Result> {
    const { nowMs } = attempt;
    const counts = this.#countsOf(attempt);
    const full = counts
      .map(({ counter, key, limit }) => counter.look(key, limit))
      .filter((window) => !window.isAllowed);
    if (full.length > 0) {
      const endMs = Math.max(...full.map((window) => window.endMs));
      throw tooManyRequests(secondsUntil(endMs, nowMs));
    }
    // Counted before it is known: those that are tried at once would otherwise all be one too many.
    for (const { counter, key, limit } of counts) counter.take(key, limit);
    const giveBack = (): void => {
      for (const { counter, key } of counts) counter.giveBack(key, nowMs);
    };
    try {
      const result = await signIn();
      giveBack();
      this.#remember(pairOf(attempt));
      return result;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'bad_request') giveBack();
      throw error;
    }
  }

  #countsOf(attempt: SignInAttempt): readonly Count[] {
    const { instanceId, account, address, nowMs } = attempt;
    const { windowMs: durationMs, accountFromClientMax, clientMax, accountMax } = signInLimits;
    const limit = (max: number): WindowLimit => ({ max, durationMs, nowMs });
    const pair = pairOf(attempt);
    const ofAccount = { counter: this.#accounts, key: `${instanceId}|${account}`, limit: limit(accountMax) };
    return [
      { counter: this.#pairs, key: pair, limit: limit(accountFromClientMax) },
      { counter: this.#clients, key: `${instanceId}|${clientKey(address)}`, limit: limit(clientMax) },
      ...(this.#known.has(pair) ? [] : [ofAccount]),
    ];
  }

  #remember(pair: string): void {
    const [first] = this.#known;
    if (first !== undefined && this.#known.size >= keysMax) this.#known.delete(first);
    this.#known.add(pair);
  }
}

interface Count {
  readonly counter: WindowCounter;
  readonly key: string;
  readonly limit: WindowLimit;
}

function pairOf({ instanceId, account, address }: SignInAttempt): string {
  return `${instanceId}|${clientKey(address)}|${account}`;
}
