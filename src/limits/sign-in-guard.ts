import { AppError } from '../base/errors.ts';
import { clientKey } from './client-key.ts';
import { countTry, type Count } from './count-try.ts';
import type { Counting } from './counting-of.ts';
import { tooManyRequests } from './rate-limiter.ts';
import { secondsUntil } from './seconds-until.ts';
import { SharedCounter, type SharedLimit } from './shared-counter.ts';

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

export interface SignInAttempt extends Counting {
  readonly instanceId: string;
  /** Tells accounts apart, those that do not exist too. */
  readonly account: string;
  readonly address: Uint8Array;
}

/** Always on: an account's password cannot be guessed by trying, and trying does not shut its owner out. */
export class SignInGuard {
  readonly #pairs = new SharedCounter({ kind: 'sign-in to an account', keysMax });
  readonly #clients = new SharedCounter({ kind: 'sign-in of a client', keysMax });
  readonly #accounts = new SharedCounter({ kind: 'sign-in to an account by all', keysMax });
  /** Clients that have signed in to an account through this node, in the order in which they first did. */
  readonly #known = new Set<string>();

  /** Runs a sign-in and counts it if it was refused for what was given. Throws too_many_requests before it is run. */
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
