import { tooManyRequests } from '../base/errors.ts';
import { clientKey } from './rate-limiter.ts';
import { type CountedInstance, SharedCounter } from './shared-counter.ts';
import { countTry } from './sign-in-guard.ts';

/** How many mails a client may request; docs/limits.md and docs/accounts.md repeat these numbers. */
export const mailRequestLimits = {
  windowMs: 5 * 60_000,
  /** To all addresses together. Fewer than can wait for an instance, or one client could use up what all share. */
  clientMax: 60,
  /** To one address. More than the one-time passwords of an account that are valid at once. */
  addressFromClientMax: 20,
} as const;

export interface MailRequest {
  /** The client's address. */
  readonly client: Uint8Array;
  /** Stands for the address that the mail is to go to, whether or not an account has it. */
  readonly to: string;
}

/** Limits how many mails of accounts one client may request, also for addresses of no account. */
export class MailRequestGuard {
  readonly #clients = new SharedCounter({ kind: 'mails requested by a client' });
  readonly #pairs = new SharedCounter({ kind: 'mails to an address requested by a client' });

  /** Throws too_many_requests. */
  async count(instance: CountedInstance, { client, to }: MailRequest): Promise<void> {
    const { windowMs: durationMs, clientMax, addressFromClientMax } = mailRequestLimits;
    const key = clientKey(client);
    const counted = await countTry(instance, [
      { counter: this.#clients, key, limit: { max: clientMax, durationMs } },
      { counter: this.#pairs, key: `${key}|${to}`, limit: { max: addressFromClientMax, durationMs } },
    ]);
    if (counted.kind === 'full') throw tooManyRequests(counted.resetSeconds);
  }
}
