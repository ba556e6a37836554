import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { Busy } from '../base/errors.ts';
import type { Share } from '../base/fair-line.ts';
import { FairQueue, type QueueLimits } from '../base/fair-queue.ts';
import type { Logger } from '../base/logger.ts';
import { type Timestamp, toTimestamp } from '../base/timestamp.ts';
import { isPlainAllowed, type NetworkPolicy } from '../network/address-guard.ts';
import { HostResolver } from '../network/host-resolver.ts';
import type { Settings } from '../settings/settings.ts';
import type { Mail, MailResult, MailText } from './render-mail.ts';
import { type MailGuard, type MailServer, sendMail } from './send-mail.ts';

/** Limits for SMTP conversations: each may take half a minute, and with a dead server it does. */
const sendLimits: QueueLimits = {
  runningMax: 8,
  runningOfInstanceMax: 2,
  waitingMax: 1_000,
  waitingOfInstanceMax: 100,
  // Those who wait to be sent are of no client any more.
  waitingOfAddressMax: 100,
};

/** Limits for preparing mails: short pieces of work on the database. */
const prepareLimits: QueueLimits = {
  runningMax: 8,
  runningOfInstanceMax: 2,
  waitingMax: 1_000,
  waitingOfInstanceMax: 200,
  waitingOfAddressMax: 100,
};

export interface MailerOptions {
  readonly policy: NetworkPolicy;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `--dev`: mails are written to the log and recorded, and need no server. */
  readonly isDevelopment: boolean;
}

/** The instance that sends a mail. */
export interface MailOrigin {
  readonly id: string;
  readonly settings: { readonly current: Settings };
}

export interface MailToSend extends MailText {
  readonly to: string;
  /** The purpose of the mail, for the log. */
  readonly purpose: string;
}

/** Sends the mails of all instances, a bounded number at a time. */
export class Mailer {
  readonly #options: MailerOptions;
  readonly #guard: MailGuard;
  readonly #resolver = new HostResolver();
  readonly #sending = new FairQueue(sendLimits);
  readonly #preparing = new FairQueue(prepareLimits);
  readonly #record = new MailRecord();
  readonly #stopping = new AbortController();

  constructor(options: MailerOptions) {
    this.#options = options;
    const { policy, clock } = options;
    this.#guard = {
      policy,
      clock,
      resolver: this.#resolver,
      isPlainAllowed: (address) => isPlainAllowed(address, policy),
    };
  }

  /** The recorded mails of an instance, the latest first; undefined where none are recorded. */
  recorded(instanceId: string): readonly RecordedMail[] | undefined {
    return this.#options.isDevelopment ? this.#record.of(instanceId) : undefined;
  }

  /**
   * Queues work that prepares a mail, to begin after its request was answered: the time of the answer must not reveal whether there
   * was anything to do. Returns undefined, and never begins it, when too many are waiting; else a promise that is fulfilled when the work
   * has ended or was evicted. Errors of the work are logged.
   */
  prepare(share: Share, work: () => Promise<void>): Promise<void> | undefined {
    const { logger } = this.#options;
    const { instance } = share;
    const running = this.#preparing.run(share, async () => {
      await nextTurn();
      await work();
    });
    if (running === undefined) {
      logger.warn('The mail queue is full.', { instance });
      return undefined;
    }
    return running.catch((error: unknown) => {
      logger.error('A mail could not be prepared.', { instance, error });
    });
  }

  /** Sends a mail when its turn comes, with the settings of this moment. A failure is logged and returned. */
  async send(origin: MailOrigin, mail: MailToSend): Promise<MailResult> {
    const { smtp, meta } = origin.settings.current;
    const { to, subject, html } = mail;
    const sender = { name: meta.senderName, address: meta.senderAddress };
    const whole = { sender, to, subject, html };
    const send = (): Promise<MailResult> =>
      sendMail(whole, serverOf(origin.settings.current), {
        guard: this.#guard,
        signal: this.#stopping.signal,
      });
    const result = smtp.enabled
      ? await this.#sendInTurn(origin.id, send)
      : this.#options.isDevelopment
        ? recordOnly
        : noServer;
    const { logger, clock, isDevelopment } = this.#options;
    const about = { instance: origin.id, purpose: mail.purpose };
    if (result.kind === 'failed') logger.warn('A mail was not sent.', { ...about, reason: result.reason });
    if (isDevelopment) {
      this.#record.add(origin.id, { created: toTimestamp(clock.now()), mail: whole, result });
      logger.info('A mail (this is a development server).', {
        ...about,
        to,
        subject,
        html,
        result: result.kind,
      });
    }
    return result;
  }

  async #sendInTurn(instance: string, send: () => Promise<MailResult>): Promise<MailResult> {
    try {
      return (await this.#sending.run({ instance, address: '' }, send)) ?? tooMany;
    } catch (error) {
      if (error instanceof Busy) return tooMany;
      throw error;
    }
  }

  /** Waits for queued mails to be sent, at most this long. */
  async stop(timeoutMs: number): Promise<void> {
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    // In this order, because preparing may still queue a mail.
    const done = this.#preparing.whenIdle().then(() => this.#sending.whenIdle());
    await Promise.race([done, timeout]);
    clearTimeout(timer);
    this.#stopping.abort();
    this.#resolver.stop();
  }
}

const recordOnly: MailResult = { kind: 'kept' };
const noServer: MailResult = {
  kind: 'failed',
  reason: 'No mail server is set up: settings.smtp is not enabled.',
};

const tooMany: MailResult = { kind: 'failed', reason: 'Too many mails are waiting to be sent.' };

/** SMTP clients must send their name: this is the host of the application's URL, which reveals nothing about this machine. */
function serverOf({ smtp, meta }: Settings): MailServer {
  const { hostname = '' } = URL.parse(meta.appURL) ?? {};
  // A host without a letter, or in brackets, is an IP address.
  return { smtp, name: /^[^[]*[a-z]/i.test(hostname) ? hostname : 'localhost' };
}

export interface RecordedMail {
  readonly created: Timestamp;
  readonly mail: Mail;
  readonly result: MailResult;
}

/** For all instances together: the record only serves to look at the last few mails while developing. */
export const recordedMailsMax = 100;

/** The last mails with their content. Only on a development server, because a mail can be worth as much as its recipient's password. */
class MailRecord {
  readonly #mails: (RecordedMail & { readonly instanceId: string })[] = [];

  add(instanceId: string, recorded: RecordedMail): void {
    this.#mails.push({ instanceId, ...recorded });
    if (this.#mails.length > recordedMailsMax) this.#mails.shift();
  }

  /** Returns an instance's mails, the latest first. */
  of(instanceId: string): readonly RecordedMail[] {
    return this.#mails.filter((mail) => mail.instanceId === instanceId).toReversed();
  }
}
