import { atMost } from '../base/at-most.ts';
import type { Clock } from '../base/clock.ts';
import { randomUnit } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { fromTimestamp } from '../base/timestamp.ts';
import { isTest } from '../events/event.ts';
import type { Transaction } from '../storage/database.ts';
import { keyText, type PendingDelivery } from '../deliveries/deliveries.ts';
import {
  afterAttempt,
  type Disposition,
  type Ownership,
  standardSchedule,
  stateIfNotSent,
} from '../deliveries/delivery.ts';
import type { AlertMails } from '../deliveries/alert-mails.ts';
import { sendAlert, type StoredAlert, storeAlerts } from '../deliveries/endpoint-alerts.ts';
import { noteOutcome, warnOfEndpoint } from '../endpoints/endpoint-warnings.ts';
import { stopEndpoint } from '../deliveries/endpoints/change-endpoint.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { LaneChange } from '../deliveries/lane.ts';
import { type LaneRow, saveLane } from '../deliveries/lane-store.ts';
import { postpone, sendWaiting } from '../deliveries/delivery-outcomes.ts';
import type { InstanceLanes } from './lanes.ts';
import { abortedResult, type AttemptResult } from '../sending/attempt-result.ts';
import type { ReachedOrigins } from './reached-origins.ts';
import { settle, type Settlement } from './settle.ts';
import type { DeliverySlot, Slots } from './slots.ts';
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

/** Bounds the size of a settlement: each result may have 20 KiB of a response. */
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
    this.#claims.set(claim.pending.id, claim);
  }

  /** Takes the results of finished attempts, and settles those of each instance together. */
  finish(results: readonly AttemptResult[]): void {
    const idle = new Set<InstanceLanes>();
    for (const result of results) {
      const claim = this.#claims.get(result.deliveryId);
      if (claim === undefined) continue;
      const { lanes, endpoint, pending, test, slot } = claim;
      if (slot !== undefined) this.#options.slots.endAttempt(slot);
      this.#options.counts.noteAttempt(pending, result);
      if (result.isSuccess && test === undefined) noteDelivered(this.#options.counts, lanes.instance.id);
      if (result.isSuccess && slot !== undefined) this.#options.origins.note(slot.origin);
      noteOutcome(lanes.instance, endpoint, { event: pending.eventId, result });
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
    if (claim.pending.disposition === 'send')
      claim.lanes.endAttempt(claim.endpoint.id, result, { now, random: randomUnit() });
    const landed = this.#finished.get(claim.lanes);
    if (landed === undefined) {
      this.#finished.set(claim.lanes, [result]);
      this.#settleFinished(claim.lanes);
    } else landed.push(result);
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
      const room = settledTogetherMax - results.length;
      results.push(...(this.#finished.get(lanes)?.splice(0, room) ?? []));
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

  async #write(lanes: InstanceLanes, results: readonly AttemptResult[]): Promise<void> {
    const { instance } = lanes;
    const { clock, ownership } = this.#options;
    // Built for each try: the instance may have been handed over meanwhile, which changes the fences.
    const settlements = results.flatMap((result) => {
      const claim = this.#claims.get(result.deliveryId);
      return claim === undefined ? [] : [toSettlement(claim, result, clock)];
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
        alerts = await storeAlerts(tx, lanes, { ...options, attempts: this.#alerting(settlements, ids) });
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
    for (const { key, result } of settlements)
      if (result !== undefined && exhausted.has(keyText(key))) this.#warnOfExhausted(result);
  }

  /** Returns the attempts that may cause alerts. */
  #alerting(
    settlements: readonly Settlement[],
    exhausted: ReadonlySet<string>,
  ): Parameters<typeof storeAlerts>[2]['attempts'] {
    return settlements.flatMap(({ key, result }) => {
      if (result === undefined || result.kind === 'aborted') return [];
      const claim = this.#claims.get(result.deliveryId);
      // A test says nothing about pending deliveries.
      if (claim === undefined || claim.test !== undefined) return [];
      const { endpoint, pending } = claim;
      const { id: delivery, eventId: event, kind } = pending;
      const { isSuccess, cause } = result;
      return [
        { endpoint, delivery, event, kind, isSuccess, cause, isExhausted: exhausted.has(keyText(key)) },
      ];
    });
  }

  /** Blocks the lanes with a strict order of these deliveries. */
  #block(lanes: InstanceLanes, exhausted: ReadonlySet<string>): void {
    if (exhausted.size === 0) return;
    for (const claim of this.#claims.values()) {
      const { endpoint, pending, test } = claim;
      const isLast = claim.lanes === lanes && test === undefined && exhausted.has(keyText(pending.key));
      if (!isLast || endpoint.onExhausted !== 'pause') continue;
      claim.laneChange = 'blocked';
      lanes.block(endpoint.id, blockedReason(pending.id));
    }
  }

  #warnOfExhausted({ deliveryId, cause }: AttemptResult): void {
    const claim = this.#claims.get(deliveryId);
    if (claim === undefined) return;
    const { lanes, endpoint, pending } = claim;
    warnOfEndpoint(lanes.instance, endpoint, { kind: 'exhausted', event: pending.eventId, cause });
  }

  #finish(lanes: InstanceLanes, result: AttemptResult): void {
    const claim = this.#claims.get(result.deliveryId);
    if (claim === undefined) return;
    const isAborted = result.kind === 'aborted' && claim.disposition === undefined;
    if (claim.test === undefined) lanes.settled(claim.pending, isAborted);
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
    { lanes: { instance }, endpoint, pending, laneChange }: Claim,
    { status }: AttemptResult,
  ): Promise<void> {
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

/** A claimed delivery, until its settlement is committed. */
interface Claim {
  readonly lanes: InstanceLanes;
  readonly endpoint: Endpoint;
  readonly pending: PendingDelivery;
  /** Its slot; a test has none. */
  readonly slot?: DeliverySlot;
  /** Set for a test, whose caller awaits the result. This process settles it even if another node owns the instance. */
  readonly test?: PromiseWithResolvers<AttemptResult>;
  /** Set when the instance is handed over to another node during the attempt; see `prepareHandOver`. */
  postponedUntil?: number;
  /** The effect of the result on the endpoint, if the attempt has ended. */
  laneChange?: LaneChange | 'blocked' | undefined;
  /** Set when it is settled without an attempt. */
  disposition?: Exclude<Disposition, 'send'>;
}

/** Returns the new state of a delivery after a result, with the conditions under which this process may write it. */
function toSettlement(
  { pending, endpoint, test, postponedUntil, disposition }: Claim,
  result: AttemptResult,
  clock: Clock,
): Settlement {
  const { key, state, kind, record, created, isReplay } = pending;
  const isOrdered = endpoint.order === 'record';
  // What was requested again, or of records that existed before, says nothing about how fast changes are delivered.
  const isCounted = test === undefined && !isTest(kind) && kind !== 'backfill' && !isReplay;
  const common = {
    key,
    record,
    isOrdered,
    due: state.due,
    postponedUntil,
    isFenced: test === undefined,
    committedAt: isCounted ? fromTimestamp(created) : undefined,
  };
  if (disposition !== undefined)
    return { ...common, after: stateIfNotSent(state, disposition, clock.now()), result: undefined };
  // A test is never retried, not even one of an earlier process.
  const schedule = isTest(kind) ? [] : (endpoint.schedule ?? standardSchedule);
  const context = { now: clock.now(), schedule, random: randomUnit() };
  const after = afterAttempt(state, result, context);
  return { ...common, after, result };
}

/** How long a settlement may take after its attempt's deadline; after that the next owner sends the delivery again. */
const settleMs = 2_000;

/** Postpones open claims, inside the transaction that hands the instances over. */
export type HandOver = (tx: Transaction) => Promise<void>;

/**
 * Lets another node take over instances at once, although some of their deliveries have attempts in flight here: these
 * are postponed until the attempts must be over. While such a row is unchanged, this node may still settle it
 * (`toSettlement`); if this process dies, the next owner finds it due.
 */
async function prepareHandOver(
  /** Returns the claims of these instances at the time of the call. */
  claims: () => readonly Claim[],
  parts: {
    readonly ownership: Ownership;
    readonly clock: Clock;
    /** Settlements that are running now. Their fences were built before the hand-over and do not know of it. */
    readonly settling: Iterable<Promise<void>>;
  },
): Promise<HandOver> {
  const { ownership, clock, settling } = parts;
  const now = clock.now();
  // A claim that was postponed before keeps its time: the row may be another node's by now, and only that time lets us settle it.
  for (const claim of claims()) claim.postponedUntil ??= now + claim.endpoint.timeoutMs + settleMs;
  // Results that cannot be stored must not delay the hand-over of others.
  await atMost(settleMs, Promise.all(settling));
  // Every claim is postponed again, as an earlier transaction may have failed; those settled meanwhile are no longer listed.
  return (tx) =>
    tx.inOrder(
      claims().map(({ lanes: { instance }, pending, postponedUntil: until = now }) => () => {
        const { names } = instance.database;
        return postpone(tx, pending, { names, until, now, fence: ownership.fence(instance.id) });
      }),
    );
}
