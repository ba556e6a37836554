import type { Clock } from '../base/clock.ts';
import { randomUnit } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { keyText, type PendingDelivery } from '../deliveries/deliveries.ts';
import type { Disposition, Ownership } from '../deliveries/delivery.ts';
import type { AlertMails } from '../deliveries/alert-mails.ts';
import { sendAlert, type StoredAlert, storeAlerts } from '../deliveries/endpoint-alerts.ts';
import { noteOutcome, warnOfEndpoint } from '../endpoints/endpoint-warnings.ts';
import { stopEndpoint } from '../deliveries/endpoints/change-endpoint.ts';
import { type LaneRow, saveLane } from '../deliveries/lane-store.ts';
import { sendWaiting } from '../deliveries/delivery-outcomes.ts';
import type { Claim } from './claim.ts';
import { type HandOver, prepareHandOver } from './hand-over.ts';
import type { InstanceLanes } from './lanes.ts';
import { abortedResult, type AttemptResult } from '../sending/attempt-result.ts';
import type { ReachedOrigins } from './reached-origins.ts';
import { settle, toSettlements } from './settle.ts';
import type { Slots } from './slots.ts';
import { noteDelivered, type StopReason, type WebhookCounts } from './webhook-counts.ts';

/** The delay after results could not be stored; failing receivers have their own schedule. */
const backOffMs = 1_000;

export interface ClaimsOptions {
  readonly slots: Slots;
  readonly ownership: Ownership;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counts: WebhookCounts;
  /** Sends the mails of alerts; absent in a process that sends tests only. */
  readonly mails?: AlertMails;
  readonly origins: Pick<ReachedOrigins, 'note'>;
  /** Called when results of the instance are settled, so that there is room for more attempts. */
  readonly onSettled: (instanceId: string) => void;
}

/** Deliveries settled together: bounds the size of a settlement, as each result may have 20 KiB of a response. A batch may have more. */
const settledTogetherMax = 64;

/**
 * Deliveries that were claimed and are not settled yet. Takes results as they arrive, and retries their settlement until it commits. An
 * instance settles one group of results at a time: those that arrive meanwhile form the next group, because a group costs the database
 * nearly the same whether it has one result or twenty.
 */
export class Claims {
  readonly #options: ClaimsOptions;
  readonly #claims = new Map<string, Claim>();
  /** The results that wait to be settled, for each instance that is settling. */
  readonly #finished = new Map<InstanceLanes, AttemptResult[]>();
  readonly #settling = new Set<Promise<void>>();
  #giveUpAtMs = Number.POSITIVE_INFINITY;

  constructor(options: ClaimsOptions) {
    this.#options = options;
  }

  add(claim: Claim): void {
    this.#claims.set(claim.id, claim);
  }

  /** Takes the results of finished attempts, and settles those of each instance together. */
  finish(results: readonly AttemptResult[]): void {
    const idle = new Set<InstanceLanes>();
    for (const result of results) {
      const claim = this.#claims.get(result.deliveryId);
      if (claim === undefined) continue;
      const { lanes, endpoint, pendings, test, slot } = claim;
      const [first] = pendings;
      if (first === undefined) continue;
      if (slot !== undefined) this.#options.slots.endAttempt(slot);
      this.#options.counts.noteAttempt(first, result);
      if (result.isSuccess && test === undefined)
        for (const _ of pendings) noteDelivered(this.#options.counts, lanes.instance.id);
      if (result.isSuccess && slot !== undefined) this.#options.origins.note(slot.origin);
      noteOutcome(lanes.instance, endpoint, { event: first.eventId, result });
      const context = { now: this.#options.clock.now(), random: randomUnit() };
      if (test === undefined) claim.laneChange = lanes.endAttempt(endpoint.id, result, context);
      const landed = this.#finished.get(lanes);
      if (landed === undefined) {
        this.#finished.set(lanes, [result]);
        idle.add(lanes);
      } else landed.push(result);
    }
    for (const lanes of idle) this.#settleFinished(lanes);
  }

  /** Settles a claimed delivery that is not sent. */
  settleWithoutAttempt({ id }: PendingDelivery, disposition: Exclude<Disposition, 'send'>): void {
    const claim = this.#claims.get(id);
    if (claim === undefined) return;
    claim.disposition = disposition;
    const now = this.#options.clock.now();
    // As an aborted attempt, which says nothing about the receiver either.
    const result = { ...abortedResult(now, ''), deliveryId: id };
    // It was about to be sent, and counts as open in its lane.
    if (claim.pendings[0]?.disposition === 'send')
      claim.lanes.endAttempt(claim.endpoint.id, result, { now, random: randomUnit() });
    const landed = this.#finished.get(claim.lanes);
    if (landed === undefined) {
      this.#finished.set(claim.lanes, [result]);
      this.#settleFinished(claim.lanes);
    } else landed.push(result);
  }

  /** Ends the claim of some deliveries of a batch that are not sent with it: they are read again. */
  leaveOut({ lanes, endpoint }: Claim, pendings: readonly PendingDelivery[]): void {
    // The last first, as each is put before the others.
    for (const pending of pendings.toReversed()) lanes.settled(pending, true);
    lanes.noteDue(new Set([endpoint.number]));
    this.#options.onSettled(lanes.id);
  }

  /** Ends the claim of a batch that is not sent. */
  abandon(claim: Claim): void {
    const now = this.#options.clock.now();
    const result = { ...abortedResult(now, ''), deliveryId: claim.id };
    claim.lanes.endAttempt(claim.endpoint.id, result, { now, random: randomUnit() });
    if (claim.slot !== undefined) this.#options.slots.release(claim.slot);
    this.#claims.delete(claim.id);
    this.leaveOut(claim, claim.pendings);
  }

  /** Prepares handing over instances to other nodes. No new delivery of these instances may be claimed any more. */
  prepareHandOver(isGoing: (instanceId: string) => boolean): Promise<HandOver> {
    const { ownership, clock } = this.#options;
    const going = (): readonly Claim[] =>
      [...this.#claims.values()].filter(({ lanes, test }) => test === undefined && isGoing(lanes.id));
    return prepareHandOver(going, { ownership, clock, settling: this.#settling });
  }

  /** From this time on (by the monotonic clock), a failed try to store results is not repeated. */
  giveUpAt(monotonicMs: number): void {
    this.#giveUpAtMs = monotonicMs;
  }

  /** Resolves when all results so far are settled or dropped. */
  async settled(): Promise<void> {
    while (this.#settling.size > 0) await Promise.all(this.#settling);
  }

  /** Settles finished claims, then those that finished meanwhile, until none is left. */
  #settleFinished(lanes: InstanceLanes): void {
    if (this.#finished.get(lanes)?.length === 0) {
      this.#finished.delete(lanes);
      return;
    }
    lanes.noteUse(1);
    const settling = this.#settle(lanes).finally(() => {
      lanes.noteUse(-1);
      this.#settling.delete(settling);
      this.#options.onSettled(lanes.id);
      this.#settleFinished(lanes);
    });
    this.#settling.add(settling);
  }

  async #settle(lanes: InstanceLanes): Promise<void> {
    const results = await this.#store(lanes);
    const landed = this.#consequencesOf(results);
    const settled = new Set(
      results.map(({ deliveryId }) => this.#claims.get(deliveryId)?.endpoint.number ?? 0),
    );
    for (const result of results) this.#finish(lanes, result);
    for (const { claim, result } of landed) await this.#follow(claim, result);
    // Their lanes read when they are due again, and the deliveries that waited for them.
    lanes.noteDue(settled);
  }

  /** Stores results in one write, which shares its commit with concurrent writes. Retries until it succeeds. */
  async #store(lanes: InstanceLanes): Promise<readonly AttemptResult[]> {
    const { clock, logger } = this.#options;
    const { id } = lanes;
    const results: AttemptResult[] = [];
    while (true) {
      // Also results since the last try, so that a test is rejected when results cannot be stored.
      const room = settledTogetherMax - this.#countOf(results);
      results.push(...this.#takeFinished(lanes, room));
      try {
        await this.#write(lanes, results);
        return results;
      } catch (error) {
        logger.error('Results of attempts could not be stored.', { instance: id, error });
        for (const { deliveryId } of results) this.#claims.get(deliveryId)?.test?.reject(error);
        // When the process stops now, these deliveries are pending and will be sent again: a duplicate, not a loss.
        if (clock.monotonic() >= this.#giveUpAtMs) return results;
        await new Promise((resolve) => setTimeout(resolve, backOffMs));
      }
    }
  }

  /** Removes and returns results of as many deliveries as there is room for; a batch may have more. */
  #takeFinished(lanes: InstanceLanes, room: number): readonly AttemptResult[] {
    const finished = this.#finished.get(lanes) ?? [];
    let [end, left] = [0, room];
    for (; end < finished.length && left > 0; end += 1) left -= this.#countOf(finished.slice(end, end + 1));
    return finished.splice(0, end);
  }

  #countOf(results: readonly AttemptResult[]): number {
    return results.reduce(
      (sum, { deliveryId }) => sum + (this.#claims.get(deliveryId)?.pendings.length ?? 0),
      0,
    );
  }

  async #write(lanes: InstanceLanes, results: readonly AttemptResult[]): Promise<void> {
    const { instance } = lanes;
    const { clock, ownership } = this.#options;
    // Built for each try: the instance may have been handed over meanwhile, which changes the fences.
    const settlements = results.flatMap((result) => {
      const claim = this.#claims.get(result.deliveryId);
      return claim === undefined ? [] : toSettlements(claim, result, clock);
    });
    const options = { now: clock.now(), fence: ownership.fence(instance.id) };
    let changed: readonly LaneRow[] = [];
    let alerts: readonly StoredAlert[] = [];
    const exhausted = await instance.database.write(
      async (tx) => {
        const ids = await settle(tx, settlements, options);
        // In the same transaction, so that nothing is sent in between, not even by another process.
        this.#block(lanes, ids);
        changed = lanes.changedLanes(options.now);
        await tx.inOrder(changed.map((row) => () => saveLane(tx, row, options.fence)));
        alerts = await storeAlerts(tx, lanes, { ...options, attempts: this.#alerting(results, ids) });
        return ids;
      },
      { findsByKey: true },
    );
    lanes.noteStored(changed, options.now);
    for (const { alert, after, isFirst, mail } of alerts) {
      lanes.noteAlerts(alert.endpoint.id, after);
      if (isFirst) sendAlert(instance, { alert, mail }, this.#options.mails);
    }
    this.#options.counts.exhausted += exhausted.size;
    for (const result of results) this.#warnOfExhausted(result, exhausted);
  }

  /** Returns the attempts that may cause alerts. */
  #alerting(
    results: readonly AttemptResult[],
    exhausted: ReadonlySet<string>,
  ): Parameters<typeof storeAlerts>[2]['attempts'] {
    return results.flatMap(({ deliveryId, kind: how, isSuccess, cause }) => {
      const claim = this.#claims.get(deliveryId);
      // A test says nothing about pending deliveries.
      if (how === 'aborted' || claim === undefined || claim.test !== undefined) return [];
      const last = claim.pendings.find(({ key }) => exhausted.has(keyText(key)));
      const pending = last ?? claim.pendings[0];
      if (pending === undefined) return [];
      const { id: delivery, eventId: event, kind } = pending;
      const { endpoint } = claim;
      return [{ endpoint, delivery, event, kind, isSuccess, cause, isExhausted: last !== undefined }];
    });
  }

  /** Blocks the lanes with a strict order of these deliveries. */
  #block(lanes: InstanceLanes, exhausted: ReadonlySet<string>): void {
    if (exhausted.size === 0) return;
    for (const claim of this.#claims.values()) {
      const { endpoint, pendings, test } = claim;
      const last = pendings.find(({ key }) => exhausted.has(keyText(key)));
      if (last === undefined || claim.lanes !== lanes || test !== undefined) continue;
      if (endpoint.onExhausted !== 'pause') continue;
      claim.laneChange = 'blocked';
      lanes.block(endpoint.id, blockedReason(last.id));
    }
  }

  #warnOfExhausted({ deliveryId, cause }: AttemptResult, exhausted: ReadonlySet<string>): void {
    const claim = this.#claims.get(deliveryId);
    const last = claim?.pendings.find(({ key }) => exhausted.has(keyText(key)));
    if (claim === undefined || last === undefined) return;
    const { lanes, endpoint } = claim;
    warnOfEndpoint(lanes.instance, endpoint, { kind: 'exhausted', event: last.eventId, cause });
  }

  #finish(lanes: InstanceLanes, result: AttemptResult): void {
    const claim = this.#claims.get(result.deliveryId);
    if (claim === undefined) return;
    const isAborted = result.kind === 'aborted' && claim.disposition === undefined;
    if (claim.test === undefined) for (const pending of claim.pendings) lanes.settled(pending, isAborted);
    else {
      lanes.noteUse(-1);
      claim.test.resolve(result);
    }
    if (claim.slot !== undefined) this.#options.slots.release(claim.slot);
    this.#claims.delete(result.deliveryId);
  }

  /** Returns the claims whose results change their endpoint, one for each endpoint and change. */
  #consequencesOf(
    results: readonly AttemptResult[],
  ): Iterable<{ readonly claim: Claim; readonly result: AttemptResult }> {
    const entries = results.flatMap((result) => {
      const claim = this.#claims.get(result.deliveryId);
      const what = result.status === 410 ? 'gone' : claim?.laneChange;
      return claim === undefined || what === undefined
        ? []
        : [[`${what} ${claim.endpoint.id}`, { claim, result }] as const];
    });
    return new Map(entries).values();
  }

  /**
   * Changes the endpoint as its result requires, once that is stored. 410 Gone means that the receiver accepts no more requests
   * (RFC 9110 section 15.5.11).
   */
  async #follow(
    { lanes: { instance }, endpoint, pendings: [pending], laneChange }: Claim,
    { status }: AttemptResult,
  ): Promise<void> {
    if (pending === undefined) return;
    try {
      const stop = stopOf(pending, { status, laneChange });
      const isStopped =
        stop !== undefined &&
        (await stopEndpoint(instance, endpoint, {
          status: stop.status,
          event: pending.eventId,
          reason: stop.reason,
          mails: this.#options.mails,
        }));
      if (isStopped) this.#options.counts.stopped[stop.why] += 1;
      if (laneChange === 'recovered') await sendWaiting(instance, endpoint.number);
    } catch (error) {
      // Nothing is lost: the next attempt ends in the same way, and pending deliveries have their own schedule.
      const message = 'The endpoint could not be updated after an attempt.';
      this.#options.logger.error(message, { instance: instance.id, endpoint: endpoint.id, error });
    }
  }
}

/** Why an endpoint is stopped, and how. */
interface Stop {
  readonly why: StopReason;
  readonly status: 'paused' | 'disabled';
  readonly reason: string;
}

function stopOf(
  { id }: PendingDelivery,
  { status, laneChange }: Pick<AttemptResult, 'status'> & Pick<Claim, 'laneChange'>,
): Stop | undefined {
  if (status === 410) return { why: 'gone', status: 'paused', reason: goneReason };
  if (laneChange === 'blocked') return { why: 'blocked', status: 'paused', reason: blockedReason(id) };
  return laneChange === 'disabled' ? { why: 'away', status: 'disabled', reason: awayReason } : undefined;
}

function blockedReason(delivery: string): string {
  return `The delivery ${delivery} is exhausted, and the order is strict.`;
}

/** Why the service pauses or disables an endpoint. */
const goneReason = 'The receiver answered 410 Gone.';
const awayReason = 'The receiver was down for five days.';
