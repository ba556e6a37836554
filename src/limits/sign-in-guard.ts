import { AppError, tooManyRequests } from '../base/errors.ts';
import { clientKey } from './client-key.ts';
import { countTry, type Count } from './count-try.ts';
import type { Counting } from './counting-of.ts';
import { secondsUntil } from './seconds-until.ts';
import { SharedCounter, type SharedLimit } from './shared-counter.ts';

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
  /** Identifies the account, even one that does not exist. */
  readonly account: string;
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
      counted.giveBack();
      this.#remember(pairOf(attempt));
      return result;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'bad_request') counted.giveBack();
      throw error;
    }
  }

  #countsOf(attempt: SignInAttempt): readonly Count[] {
    const { instanceId, account, address, nowMs, store } = attempt;
    const { windowMs: durationMs, accountFromClientMax, clientMax, accountMax } = signInLimits;
    const limit = (max: number): SharedLimit => ({ max, durationMs, nowMs, store });
    const pair = pairOf(attempt);
    const ofAccount = { counter: this.#accounts, key: `${instanceId}|${account}`, limit: limit(accountMax) };
    return [
      { counter: this.#clients, key: `${instanceId}|${clientKey(address)}`, limit: limit(clientMax) },
      { counter: this.#pairs, key: pair, limit: limit(accountFromClientMax) },
      ...(this.#known.has(pair) ? [] : [ofAccount]),
    ];
  }

  #remember(pair: string): void {
    const [first] = this.#known;
    if (first !== undefined && this.#known.size >= keysMax) this.#known.delete(first);
    this.#known.add(pair);
  }
}

function pairOf({ instanceId, account, address }: SignInAttempt): string {
  return `${instanceId}|${clientKey(address)}|${account}`;
}
