import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { readSafeFor } from '../deliveries/decision-cursor.ts';
import { Poller } from '../base/poller.ts';
import type { SafeEnd } from '../events/log-horizon.ts';
import type { TrimPoint } from '../events/trimmed.ts';
import type { AlertMails } from '../deliveries/alert-mails.ts';
import { alertExpiring } from '../deliveries/certificate-alerts.ts';
import { giveUpWaiting } from '../deliveries/give-up-waiting.ts';
import { pauseOrphans } from '../deliveries/endpoints/pause-orphans.ts';
import { releaseStrays } from '../deliveries/record-order.ts';
import { moveCursors } from '../deliveries/log/move-cursors.ts';
import { hasUnneeded, tidyDeleted, trimLog, trimUnneeded } from '../deliveries/log/trim-log.ts';
import type { WebhookInstance, WebhookInstanceLoan } from '../endpoints/webhook-instance.ts';

const intervalMs = 60_000;
/** How often each instance is visited. */
const tidyEveryMs = 3_600_000;
const dayMs = 86_400_000;
/** Events of this time are kept, however full the log is: readers are about to read them. */
const keptMsMin = 60_000;
/** How long the log of one instance is trimmed until it is the turn of the next. */
const trimMsMax = 1_000;

export interface JanitorOptions {
  /** The instances that are open. */
  readonly instances: () => Iterable<string>;
  readonly borrow: (instanceId: string) => Promise<WebhookInstanceLoan | undefined>;
  readonly owns: (instanceId: string) => boolean;
  readonly safeEnd: SafeEnd;
  /** How many days the log of events and deliveries is kept; 0 for ever. */
  readonly days: number;
  readonly retention: Retention;
  /** Sends mails of alerts that were not sent when they became due. */
  readonly mails?: AlertMails;
  /** Wakes an instance that may have something due. */
  readonly wake: (instanceId: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How old events are removed from a log that instances share. */
export interface Retention {
  /** How much longer events are kept that are deleted row by row: usually they are dropped before, with all events of their time. */
  readonly graceMs: number;
  /**
   * Finds instances in which something is to be tidied, open or not; none where `visit` is called for these. Events older than `before`
   * are not kept.
   */
  findUntidy(before: number): Promise<readonly string[]>;
  /**
   * Drops parts of the log in which every event is older than this time (milliseconds since 1970). First, `giveUp` is called for
   * each instance with the position up to which it loses events.
   */
  dropOld(before: number, giveUp: (instanceId: string, trimmed: TrimPoint) => Promise<void>): Promise<void>;
}

/** Where each instance has a log of its own, the janitor deletes rows. */
export const rowByRow: Retention = {
  graceMs: 0,
  findUntidy: () => Promise.resolve([]),
  dropOld: () => Promise.resolve(),
};

/** Trims the log of events and deliveries of one instance after the other: of those that are open once an hour, of others when it is due. */
export class Janitor {
  readonly #options: JanitorOptions;
  #watch: Poller | undefined;
  /** When each instance was visited, by the monotonic clock. */
  readonly #tidiedAtMs = new Map<string, number>();
  readonly #noted = new Set<string>();
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #isStopping = false;

  constructor(options: JanitorOptions) {
    this.#options = options;
  }

  start(): void {
    const { logger } = this.#options;
    const onError = (error: unknown): void =>
      logger.warn('Trimming the log of webhooks failed; retrying.', { error });
    this.#watch = new Poller({ intervalMs, poll: () => this.tidy(), onError });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#watch?.stop();
  }

  /** Notes that something may have to be tidied in an instance that is not open. */
  visit(instanceId: string): void {
    this.#noted.add(instanceId);
  }

  /**
   * Deletes the oldest events of a log that is too large until so many bytes are gone, or the next one is still needed. Returns how many are
   * gone; of an instance that this process does not deliver for, none.
   */
  async trimBytes(id: string, bytes: number): Promise<number> {
    const { owns, borrow, clock, logger, safeEnd } = this.#options;
    const loan = this.#isStopping || !owns(id) ? undefined : await borrow(id);
    if (loan === undefined) return 0;
    const endsAtMs = clock.monotonic() + trimMsMax;
    const limits = { before: clock.now() - keptMsMin, safe: safeEnd.safePosition };
    let [freed, events, hasMore] = [0, 0, true];
    try {
      while (hasMore && freed < bytes && !this.#isStopping && clock.monotonic() < endsAtMs) {
        const trimmed = await trimUnneeded(loan.instance, { ...limits, bytes: bytes - freed });
        hasMore = trimmed.events > 0;
        freed += trimmed.bytes;
        events += trimmed.events;
      }
    } finally {
      loan.release();
    }
    if (events > 0)
      logger.info('The oldest events were deleted, as the log was full.', { instance: id, events });
    return freed;
  }

  /** Returns whether {@link trimBytes} would delete something of an instance. */
  async canTrim({ database }: Pick<WebhookInstance, 'database'>): Promise<boolean> {
    const { clock, safeEnd } = this.#options;
    return hasUnneeded(database, { before: clock.now() - keptMsMin, safe: safeEnd.safePosition, bytes: 1 });
  }

  /** Visits the instances that this process delivers for. One that cannot be read does not block the others. */
  async tidy(): Promise<void> {
    const noted = [...this.#noted];
    this.#noted.clear();
    for (const id of new Set([...this.#options.instances(), ...noted])) await this.#tidyIfDue(id);
    const { clock } = this.#options;
    if (clock.monotonic() < this.#lookedAtMs + tidyEveryMs) return;
    for (const id of await this.#options.retention.findUntidy(this.#before)) await this.#tidyIfDue(id);
    await this.#dropOld();
    this.#lookedAtMs = clock.monotonic();
  }

  async #tidyIfDue(id: string): Promise<void> {
    const { owns, clock, logger } = this.#options;
    const dueMs = (this.#tidiedAtMs.get(id) ?? Number.NEGATIVE_INFINITY) + tidyEveryMs;
    if (this.#isStopping || !owns(id) || clock.monotonic() < dueMs) return;
    this.#tidiedAtMs.set(id, clock.monotonic());
    try {
      await this.tidyInstance(id);
    } catch (error) {
      logger.warn('The log of webhooks of an instance could not be trimmed.', { instance: id, error });
    }
  }

  async #dropOld(): Promise<void> {
    const { retention, days } = this.#options;
    if (days === 0 || this.#isStopping) return;
    await retention.dropOld(this.#before, (id, trimmed) => this.#giveUp(id, trimmed));
  }

  /** Events before this time are not kept. */
  get #before(): number {
    const { days, clock } = this.#options;
    return clock.now() - days * dayMs;
  }

  /** An instance that cannot be read does not block the trimming of all others. */
  async #giveUp(id: string, trimmed: TrimPoint): Promise<void> {
    try {
      const loan = this.#isStopping ? undefined : await this.#options.borrow(id);
      if (loan === undefined) return;
      try {
        this.#reportExpired(id, await giveUpWaiting(loan.instance, trimmed));
      } finally {
        loan.release();
      }
    } catch (error) {
      this.#options.logger.warn('The log of webhooks of an instance could not be trimmed.', {
        instance: id,
        error,
      });
    }
  }

  /** Tidies one instance now, whichever process delivers for it. */
  async tidyInstance(id: string): Promise<void> {
    const loan = await this.#options.borrow(id);
    if (loan === undefined) return;
    try {
      const { instance } = loan;
      await this.#trim(instance);
      if (await releaseStrays(instance)) this.#options.wake(id);
      await tidyDeleted(instance);
      await alertExpiring(instance, this.#options.mails);
      await pauseOrphans(instance, this.#options.mails);
      await this.#options.mails?.sendDue(instance);
      await moveCursors(instance.database, {
        safeFor: await readSafeFor(instance, this.#options.safeEnd.safePosition),
        isEnding: () => this.#isStopping,
      });
    } finally {
      loan.release();
    }
  }

  async #trim(instance: WebhookInstance): Promise<void> {
    const { id } = instance;
    const { days, retention, logger } = this.#options;
    if (days === 0) return;
    const before = this.#before - retention.graceMs;
    let [from, events, expired, hasMore] = [0, 0, 0, true];
    while (hasMore && !this.#isStopping) {
      const trimmed = await trimLog(instance, { before, from });
      hasMore = trimmed.events > 0;
      from = trimmed.last;
      events += trimmed.events;
      expired += trimmed.expired;
    }
    this.#reportExpired(id, expired);
    if (events > 0) logger.debug('Old events were deleted.', { instance: id, events });
  }

  #reportExpired(id: string, expired: number): void {
    if (expired === 0) return;
    const message = 'Deliveries expired before they could be sent.';
    this.#options.logger.warn(message, { instance: id, expired });
    // Deliveries that waited for them may be sent.
    this.#options.wake(id);
  }
}
