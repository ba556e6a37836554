import { tooManyRequests } from '../base/errors.ts';
import { clientKey, secondsUntil } from './rate-limiter.ts';
import { countTry } from './sign-in-guard.ts';
import type { Counting } from './window-store.ts';
import { SharedCounter, type SharedLimit } from './shared-counter.ts';

/** How many mails a client may ask for; docs/limits.md and docs/accounts.md repeat these numbers. */
export const mailRequestLimits = {
  windowMs: 5 * 60_000,
  /** To all addresses together. Fewer than can wait for an instance, or one client could use up what all share. */
  clientMax: 60,
  /** To one address. More than the one-time passwords of an account that are valid at once. */
  addressFromClientMax: 20,
} as const;

/** Keys of each counter; about 200 bytes each. */
const keysMax = 50_000;

export interface MailRequest extends Counting {
  readonly instanceId: string;
  /** The client's address. */
  readonly client: Uint8Array;
  /** Stands for the address that the mail is to go to, whether or not an account has it. */
  readonly to: string;
}

/** Limits how many mails of accounts one client may ask for, always and for addresses of no account alike. */
export class MailRequestGuard {
  readonly #clients = new SharedCounter({ kind: 'mails asked for by a client', keysMax });
  readonly #pairs = new SharedCounter({ kind: 'mails to an address asked for by a client', keysMax });

  /** Throws too_many_requests. */
  async count({ instanceId, client, to, nowMs, store }: MailRequest): Promise<void> {
    const { windowMs: durationMs, clientMax, addressFromClientMax } = mailRequestLimits;
    const limit = (max: number): SharedLimit => ({ max, durationMs, nowMs, store });
    const key = `${instanceId}|${clientKey(client)}`;
    const counted = await countTry([
      { counter: this.#clients, key, limit: limit(clientMax) },
      { counter: this.#pairs, key: `${key}|${to}`, limit: limit(addressFromClientMax) },
    ]);
    if (counted.kind === 'full') throw tooManyRequests(secondsUntil(counted.endMs, nowMs));
  }
}
