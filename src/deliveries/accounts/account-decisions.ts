import type { SafeEnd } from '../../events/log-horizon.ts';
import type { AlertMails } from '../alert-mails.ts';
import { OutdatedDefinitions } from '../../storage/engine-errors.ts';
import { stopEndpoint } from '../endpoints/change-endpoint.ts';
import { pauseOrphans } from '../endpoints/pause-orphans.ts';
import type { Endpoint } from '../../endpoints/endpoint.ts';
import type { WebhookInstance } from '../../endpoints/webhook-instance.ts';
import { type DecisionState, moveApart, readDecisions } from '../decision-cursor.ts';
import { decideApart, decideTogether, type StepResult } from './decide-step.ts';

/*
 * Matches events to endpoints of accounts. The map of this folder:
 *
 *   account-decisions   decides, from the log and after the commit, which of them receive a change
 *   decide-step         the next events of all of them together, or of one that is behind; decide-event, one event; decide-transitions, those
 *                       with transitions, by what they hold
 *   decision-cursor     the rows: up to which position the log is decided, and the deliveries
 *   past-events         what may still be sent of a past event; past-deliveries, of a claimed delivery
 *
 * They cost a write of a record nothing, however many there are, and none of their rules or filters can make it fail.
 */

/** What decisions need of the dispatcher. */
export interface DecisionPort {
  readonly safeEnd: SafeEnd;
  readonly mails?: AlertMails | undefined;
  /** Whether the instance is another node's by now, or this one stops. */
  readonly isOver: () => boolean;
  /** Called when deliveries were inserted, or when no step is running any more. */
  readonly onStep: () => void;
}

export interface DecisionContext extends DecisionPort {
  /** Called with the numbers of the endpoints for which deliveries were inserted. */
  readonly onDecided: (endpoints: ReadonlySet<number>) => void;
  readonly endpoints: readonly Endpoint[];
  /** When it differs from the last one, another node may have made steps. */
  readonly epoch: string;
}

/** The delay after a failed step, as the database is unavailable. */
const failedMs = 1_000;
/** How long it waits at most for committed events to become safe. */
const safeMs = 250;
/** The delay after an endpoint could not be decided: doubled each time, up to the maximum. */
const backOffMs = { first: 5_000, max: 600_000 } as const;
/** After this time it is paused: the log is kept for undecided events. */
const pausedAfterMs = 5 * 86_400_000;

/**
 * The decisions of one instance that this process owns: one step after the other in the background, and beside it one for an endpoint that is
 * behind. Nothing else waits for them.
 */
export class AccountDecisions {
  #epoch: string | undefined;
  #state: DecisionState | undefined;
  #together: Promise<void> | undefined;
  #apart: Promise<void> | undefined;
  #hasMore = false;
  #isStale = true;
  /** When each endpoint that is behind is decided again, in milliseconds since 1970, and the delay before. */
  readonly #waits = new Map<number, { readonly at: number; readonly delayMs: number }>();
  #failedUntil = 0;

  get isRunning(): boolean {
    return this.#together !== undefined || this.#apart !== undefined;
  }

  /** When the next step is due after `now`: one that is due already runs with this look, or after the running step. */
  nextAt(now: number): number | undefined {
    const waits = this.#behind().map((number) => this.#waits.get(number)?.at ?? now);
    const later = [this.#failedUntil, ...waits].filter((at) => at > now);
    return later.length === 0 ? undefined : Math.min(...later);
  }

  /** Returns the position up to which events are decided for an endpoint, by its number; it may be further by now. */
  decidedFor(endpoint: number): number {
    return this.#state?.apart.get(endpoint)?.at ?? this.#state?.cursor ?? 0;
  }

  /** Notes that something was committed. */
  noteChange(): void {
    this.#hasMore = true;
  }

  /** Begins to decide new events, unless a step is running already. */
  advance(instance: WebhookInstance, context: DecisionContext): void {
    if (!context.endpoints.some(({ owner }) => owner !== '')) {
      this.#state = undefined;
      return;
    }
    if (this.#epoch !== context.epoch) {
      this.#epoch = context.epoch;
      this.#isStale = true;
    }
    const now = instance.dueClock.now();
    if (now < this.#failedUntil || context.isOver()) return;
    if (this.#hasMore)
      this.#together ??= this.#run(instance, context, () => this.#decideTogether(instance, context)).finally(
        () => (this.#together = undefined),
      );
    const endpoint = this.#nextBehind(context.endpoints, now);
    if (endpoint === undefined || this.#apart !== undefined) return;
    this.#apart = this.#run(instance, context, () => this.#decideApart(instance, context, endpoint)).finally(
      () => (this.#apart = undefined),
    );
  }

  /** Resolves when no step is running. */
  async settled(): Promise<void> {
    await Promise.all([this.#together, this.#apart]);
  }

  async #run(
    instance: WebhookInstance,
    { endpoints, onStep, onDecided }: DecisionContext,
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#isStale = true;
      this.#hasMore = true;
      // It may have been committed, without a notification of its endpoints.
      onDecided(new Set(endpoints.flatMap(({ owner, number }) => (owner === '' ? [] : [number]))));
      // The definitions have been read again by now.
      if (error instanceof OutdatedDefinitions) return onStep();
      this.#failedUntil = instance.dueClock.now() + failedMs;
      const about = { instance: instance.id, error, delayMs: failedMs };
      instance.logger.error('Matching events to endpoints of accounts failed; retrying.', about);
    }
    onStep();
  }

  async #decideTogether(instance: WebhookInstance, context: DecisionContext): Promise<void> {
    const { safeEnd, isOver, onDecided } = context;
    while (this.#hasMore && !isOver()) {
      this.#hasMore = false;
      const state = await this.#load(instance);
      if (state === undefined) return;
      const step = await decideTogether(instance, { state, safe: safeEnd.safePosition });
      if (step.recipients.size > 0) onDecided(step.recipients);
      if (step.hasOrphans === true) await pauseOrphans(instance, context.mails);
      this.#isStale = true;
      if (step.next === 'unsafe') await safeEnd.nextSafe(safeMs);
      if (step.next !== 'nothing') this.#hasMore = true;
    }
    // Endpoints that are behind by now decide about the next step.
    await this.#load(instance);
  }

  async #decideApart(instance: WebhookInstance, context: DecisionContext, endpoint: Endpoint): Promise<void> {
    let step: StepResult | undefined;
    while (!context.isOver() && step?.next !== 'nothing') {
      const state = await this.#load(instance);
      const behind = state?.apart.get(endpoint.number);
      if (state === undefined || behind === undefined) {
        this.#waits.delete(endpoint.number);
        return;
      }
      if (behind.since > 0 && instance.dueClock.now() - behind.since > pausedAfterMs)
        return this.#giveUp(instance, context, { endpoint, cause: behind.cause });
      step = await decideApart(instance, { state }, endpoint.number);
      this.#isStale = true;
      if (step.recipients.size > 0) context.onDecided(step.recipients);
    }
    if (step !== undefined) this.#noteFailed(instance, context, step);
    await this.#load(instance);
  }

  /** Pauses an endpoint that cannot be decided, with a visible reason, and joins it to the others: events in between are skipped. */
  async #giveUp(
    instance: WebhookInstance,
    { mails }: DecisionContext,
    { endpoint, cause }: { readonly endpoint: Endpoint; readonly cause: string },
  ): Promise<void> {
    const reason = `Its events could not be matched for five days: ${cause}`;
    const stop = { status: 'paused', event: '', reason, mails } as const;
    await stopEndpoint(instance, endpoint, stop);
    await instance.database.write((tx) =>
      moveApart(tx, endpoint.number, { at: undefined, cause: '', since: 0 }),
    );
    this.#waits.delete(endpoint.number);
    this.#isStale = true;
    await this.#load(instance);
  }

  async #load({
    database,
  }: WebhookInstance): Promise<(DecisionState & { readonly cursor: number }) | undefined> {
    if (this.#isStale || this.#state === undefined) {
      this.#isStale = false;
      this.#state = await readDecisions(database);
    }
    const { cursor, ...state } = this.#state;
    return cursor === undefined ? undefined : { ...state, cursor };
  }

  /** The numbers of endpoints that are behind the others. */
  #behind(): readonly number[] {
    const { cursor = 0, apart } = this.#state ?? { apart: new Map<number, never>() };
    return [...apart].flatMap(([number, { at }]) => (at < cursor ? [number] : []));
  }

  #nextBehind(endpoints: readonly Endpoint[], now: number): Endpoint | undefined {
    const due = this.#behind().filter((number) => (this.#waits.get(number)?.at ?? 0) <= now);
    const [first] = due.toSorted((a, b) => (this.#waits.get(a)?.at ?? 0) - (this.#waits.get(b)?.at ?? 0));
    return endpoints.find(({ number }) => number === first);
  }

  #noteFailed(
    { id, dueClock, logger }: WebhookInstance,
    { endpoints }: DecisionContext,
    { failed }: StepResult,
  ): void {
    for (const [number, cause] of failed) {
      const before = this.#waits.get(number);
      const delayMs = before === undefined ? backOffMs.first : Math.min(before.delayMs * 2, backOffMs.max);
      this.#waits.set(number, { at: dueClock.now() + delayMs, delayMs });
      if (before !== undefined) continue;
      const endpoint = endpoints.find((one) => one.number === number)?.id;
      logger.warn('An endpoint of an account falls behind: its events could not be matched.', {
        instance: id,
        endpoint,
        cause,
      });
    }
  }
}
