import type { Clock } from '../base/clock.ts';
import { randomUnit } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { isTest } from '../events/event.ts';
import type { Transaction } from '../storage/database.ts';
import { keyText, type PendingDelivery } from '../deliveries/deliveries.ts';
import { afterAttempt, type Fate, type Ownership, standardSchedule, unsent } from '../deliveries/delivery.ts';
import { type AlertMailer, giveAlert, type StoredAlert, storeAlerts } from '../deliveries/endpoint-alerts.ts';
import { noteOutcome, warnOfEndpoint } from '../endpoints/endpoint-warnings.ts';
import { stopEndpoint } from '../deliveries/endpoints/change-endpoint.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { LaneChange } from '../deliveries/lane.ts';
import { type LaneRow, saveLane } from '../deliveries/lane-store.ts';
import { putOff, sendWaiting } from '../deliveries/outcomes.ts';
import type { InstanceLanes } from './lanes.ts';
import { abortedResult, type AttemptResult } from '../sending/attempt-result.ts';
import { settle, type Settlement } from './settle.ts';
import type { DeliverySlot, Slots } from './slots.ts';
import type { StopReason, WebhookCounts } from './webhook-counts.ts';

/** The wait after results could not be stored; receivers that fail have their own schedule. */
const backOffMs = 1_000;

export interface FlightsOptions {
  readonly slots: Slots;
  readonly ownership: Ownership;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counts: WebhookCounts;
  /** Sends the mails of alerts; absent in a process that sends no more than tests. */
  readonly mailer?: AlertMailer;
  /** Called when results of the instance are settled, so that there is room for more attempts. */
  readonly onSettled: (instanceId: string) => void;
}

/** Bounds the size of a settlement: each result may have 20 KiB of an answer. */
const settledTogetherMax = 64;

/**
 * Deliveries that were claimed and are not settled yet. Takes results as they come, and retries settling them until it commits. An
 * instance settles one group of results at a time: those that land meanwhile form the next group, because a group costs a database
 * nearly the same whether it has one result or twenty.
 */
export class InFlight {
  readonly #options: FlightsOptions;
  readonly #flights = new Map<string, Flight>();
  /** The results that wait to be settled, for each instance that is settling. */
  readonly #landed = new Map<InstanceLanes, AttemptResult[]>();
  readonly #settling = new Set<Promise<void>>();
  #giveUpAtMs = Number.POSITIVE_INFINITY;

  constructor(options: FlightsOptions) {
    this.#options = options;
  }

  add(flight: Flight): void {
    this.#flights.set(flight.pending.id, flight);
  }

  /** Takes the results of finished attempts, and settles those of each instance together. */
  finish(results: readonly AttemptResult[]): void {
    const idle = new Set<InstanceLanes>();
    for (const result of results) {
      const flight = this.#flights.get(result.deliveryId);
      if (flight === undefined) continue;
      const { lanes, endpoint, pending, test } = flight;
      this.#options.counts.noteAttempt(pending, result);
      noteOutcome(lanes.instance, endpoint, { event: pending.eventId, result });
      const context = { now: this.#options.clock.now(), random: randomUnit() };
      if (test === undefined) flight.laneChange = lanes.land(endpoint.id, result, context);
      const landed = this.#landed.get(lanes);
      if (landed === undefined) {
        this.#landed.set(lanes, [result]);
        idle.add(lanes);
      } else landed.push(result);
    }
    for (const lanes of idle) this.#settleLanded(lanes);
  }

  /** Stores what becomes of a claimed delivery that is not sent. */
  leave({ id }: PendingDelivery, fate: Exclude<Fate, 'send'>): void {
    const flight = this.#flights.get(id);
    if (flight === undefined) return;
    flight.left = fate;
    const now = this.#options.clock.now();
    // By the kind of an attempt that was cut short, which says nothing of the receiver either.
    const result = { ...abortedResult(now, ''), deliveryId: id };
    // It was about to be sent, and has a place in its lane.
    if (flight.pending.fate === 'send')
      flight.lanes.land(flight.endpoint.id, result, { now, random: randomUnit() });
    const landed = this.#landed.get(flight.lanes);
    if (landed === undefined) {
      this.#landed.set(flight.lanes, [result]);
      this.#settleLanded(flight.lanes);
    } else landed.push(result);
  }

  /** Prepares handing over instances to other nodes. No new delivery of these instances may be claimed any more. */
  prepareHandOver(isGoing: (instanceId: string) => boolean): Promise<HandOver> {
    const { ownership, clock } = this.#options;
    const going = (): readonly Flight[] =>
      [...this.#flights.values()].filter(({ lanes, test }) => test === undefined && isGoing(lanes.id));
    return prepareHandOver(going, { ownership, clock, settling: this.#settling });
  }

  /** From this time on (by the monotonic clock), a failed try to store results is not repeated. */
  giveUpAt(monotonicMs: number): void {
    this.#giveUpAtMs = monotonicMs;
  }

  /** Resolves when all results taken so far are settled or given up. */
  async settled(): Promise<void> {
    while (this.#settling.size > 0) await Promise.all(this.#settling);
  }

  /** Settles what has landed, then what landed meanwhile, until nothing is left. */
  #settleLanded(lanes: InstanceLanes): void {
    if (this.#landed.get(lanes)?.length === 0) {
      this.#landed.delete(lanes);
      return;
    }
    lanes.noteUse(1);
    const settling = this.#settle(lanes).finally(() => {
      lanes.noteUse(-1);
      this.#settling.delete(settling);
      this.#options.onSettled(lanes.id);
      this.#settleLanded(lanes);
    });
    this.#settling.add(settling);
  }

  async #settle(lanes: InstanceLanes): Promise<void> {
    const results = await this.#store(lanes);
    const landed = this.#landedOf(results);
    const settled = new Set(
      results.map(({ deliveryId }) => this.#flights.get(deliveryId)?.endpoint.number ?? 0),
    );
    for (const result of results) this.#finish(lanes, result);
    for (const { flight, result } of landed) await this.#follow(flight, result);
    // When they are due again, and what has waited for them, is read by their own lanes.
    lanes.noteDue(settled);
  }

  /** Stores results in one write, which shares its commit with concurrent writes. Retries until it succeeds. */
  async #store(lanes: InstanceLanes): Promise<readonly AttemptResult[]> {
    const { clock, logger } = this.#options;
    const { id } = lanes;
    const results: AttemptResult[] = [];
    while (true) {
      // Also what has landed since the last try, so that a test is told that results cannot be stored.
      const room = settledTogetherMax - results.length;
      results.push(...(this.#landed.get(lanes)?.splice(0, room) ?? []));
      try {
        await this.#write(lanes, results);
        return results;
      } catch (error) {
        logger.error('Results of attempts could not be stored.', { instance: id, error });
        for (const { deliveryId } of results) this.#flights.get(deliveryId)?.test?.reject(error);
        // When a stop ends now, these deliveries are pending and will be sent again: a duplicate, not a loss.
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
      const flight = this.#flights.get(result.deliveryId);
      return flight === undefined ? [] : [toSettlement(flight, result, clock)];
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
    for (const { alert, after, isFirst } of alerts) {
      lanes.noteAlerts(alert.endpoint.id, after);
      if (isFirst) giveAlert(instance, alert, this.#options.mailer);
    }
    this.#options.counts.exhausted += exhausted.size;
    for (const { key, result } of settlements)
      if (result !== undefined && exhausted.has(keyText(key))) this.#warnOfExhausted(result);
  }

  /** Returns what of these attempts may give rise to alerts. */
  #alerting(
    settlements: readonly Settlement[],
    exhausted: ReadonlySet<string>,
  ): Parameters<typeof storeAlerts>[2]['attempts'] {
    return settlements.flatMap(({ key, result }) => {
      if (result === undefined || result.kind === 'aborted') return [];
      const flight = this.#flights.get(result.deliveryId);
      // A test says nothing of what waits.
      if (flight === undefined || flight.test !== undefined) return [];
      const { endpoint, pending } = flight;
      const { id: delivery, eventId: event, kind } = pending;
      const { isSuccess, cause } = result;
      return [
        { endpoint, delivery, event, kind, isSuccess, cause, isExhausted: exhausted.has(keyText(key)) },
      ];
    });
  }

  /** Blocks the lanes of strict orders of which one of these deliveries is. */
  #block(lanes: InstanceLanes, exhausted: ReadonlySet<string>): void {
    if (exhausted.size === 0) return;
    for (const flight of this.#flights.values()) {
      const { endpoint, pending, test } = flight;
      const isLast = flight.lanes === lanes && test === undefined && exhausted.has(keyText(pending.key));
      if (!isLast || endpoint.onExhausted !== 'pause') continue;
      flight.laneChange = 'blocked';
      lanes.block(endpoint.id, blockedReason(pending.id));
    }
  }

  #warnOfExhausted({ deliveryId, cause }: AttemptResult): void {
    const flight = this.#flights.get(deliveryId);
    if (flight === undefined) return;
    const { lanes, endpoint, pending } = flight;
    warnOfEndpoint(lanes.instance, endpoint, { kind: 'exhausted', event: pending.eventId, cause });
  }

  #finish(lanes: InstanceLanes, result: AttemptResult): void {
    const flight = this.#flights.get(result.deliveryId);
    if (flight === undefined) return;
    const isAborted = result.kind === 'aborted' && flight.left === undefined;
    if (flight.test === undefined) lanes.settled(flight.pending, isAborted);
    else {
      lanes.noteUse(-1);
      flight.test.resolve(result);
    }
    if (flight.slot !== undefined) this.#options.slots.release(flight.slot);
    this.#flights.delete(result.deliveryId);
  }

  /** Returns the flights whose results say something of their endpoint, one for each endpoint and what it says. */
  #landedOf(
    results: readonly AttemptResult[],
  ): Iterable<{ readonly flight: Flight; readonly result: AttemptResult }> {
    const telling = results.flatMap((result) => {
      const flight = this.#flights.get(result.deliveryId);
      const what = result.status === 410 ? 'gone' : flight?.laneChange;
      return flight === undefined || what === undefined
        ? []
        : [[`${what} ${flight.endpoint.id}`, { flight, result }] as const];
    });
    return new Map(telling).values();
  }

  /**
   * Does what follows from a result for its endpoint, once it is stored. 410 Gone means that the receiver wants no more requests
   * (RFC 9110 section 15.5.11).
   */
  async #follow(
    { lanes: { instance }, endpoint, pending, laneChange }: Flight,
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
          mailer: this.#options.mailer,
        }));
      if (isStopped) this.#options.counts.stopped[stop.why] += 1;
      if (laneChange === 'recovered') await sendWaiting(instance, endpoint.number);
    } catch (error) {
      // Nothing is lost: the next attempt ends in the same way, and what waits has its own schedule.
      const message = 'What an attempt says of its endpoint could not be stored.';
      this.#options.logger.error(message, { instance: instance.id, endpoint: endpoint.id, error });
    }
  }
}

/** Why an endpoint is to be sent nothing any more, and how; undefined where it is. */
interface Stop {
  readonly why: StopReason;
  readonly status: 'paused' | 'disabled';
  readonly reason: string;
}

function stopOf(
  { id }: PendingDelivery,
  { status, laneChange }: Pick<AttemptResult, 'status'> & Pick<Flight, 'laneChange'>,
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
const awayReason = 'The receiver was away for five days.';

/** A claimed delivery, until its settlement is committed. */
interface Flight {
  readonly lanes: InstanceLanes;
  readonly endpoint: Endpoint;
  readonly pending: PendingDelivery;
  /** Taken for it, unless it is a test: those take no delivery's place. */
  readonly slot?: DeliverySlot;
  /** Set for a test, whose caller waits for the result. This process settles it even if another node owns the instance. */
  readonly test?: PromiseWithResolvers<AttemptResult>;
  /** Set when the instance is handed over to another node during the attempt; see in-flight.ts. */
  putOffUntil?: number;
  /** What the result means for the endpoint, if it has landed. */
  laneChange?: LaneChange | 'blocked' | undefined;
  /** Why it is not sent, if so; its state is stored all the same. */
  left?: Exclude<Fate, 'send'>;
}

/** Returns the new state that a result gives its delivery, with what decides whether this process may write it. */
function toSettlement(
  { pending, endpoint, test, putOffUntil, left }: Flight,
  result: AttemptResult,
  clock: Clock,
): Settlement {
  const { key, state, kind, record } = pending;
  const isOrdered = endpoint.order === 'record';
  const common = { key, record, isOrdered, due: state.due, putOffUntil, isFenced: test === undefined };
  if (left !== undefined) return { ...common, after: unsent(state, left, clock.now()), result: undefined };
  // A test is never sent a second time, not even one that an earlier process left behind.
  const schedule = isTest(kind) ? [] : (endpoint.schedule ?? standardSchedule);
  const context = { now: clock.now(), schedule, random: randomUnit() };
  const after = afterAttempt(state, result, context);
  return { ...common, after, result };
}

/** How long a settlement may take after its attempt's deadline; after that the next owner sends the delivery again. */
const settleMs = 2_000;

/** Writes what a hand-over needs, inside the transaction that gives the instances away. */
export type HandOver = (tx: Transaction) => Promise<void>;

/**
 * Lets another node go on with instances at once, although some of their deliveries have attempts in flight here: those
 * deliveries are put off until the attempts must be over. While such a row is unchanged, this node may still settle it
 * (`toSettlement`); if this process dies, the next owner finds it due.
 */
async function prepareHandOver(
  /** Returns the flights of these instances at the time of the call. */
  flights: () => readonly Flight[],
  parts: {
    readonly ownership: Ownership;
    readonly clock: Clock;
    /** Settlements that are running now. Their fences were built before the hand-over and do not know of it. */
    readonly settling: Iterable<Promise<void>>;
  },
): Promise<HandOver> {
  const { ownership, clock, settling } = parts;
  const now = clock.now();
  // A flight that was put off before keeps its time: the row may be another node's by now, and only that time lets us settle it.
  for (const flight of flights()) flight.putOffUntil ??= now + flight.endpoint.timeoutMs + settleMs;
  await atMost(settleMs, Promise.all(settling));
  // Every flight is put off again, as an earlier transaction may have failed; those settled meanwhile are no longer listed.
  return (tx) =>
    tx.inOrder(
      flights().map(({ lanes: { instance }, pending, putOffUntil: until = now }) => () => {
        const { names } = instance.database;
        return putOff(tx, pending, { names, until, now, fence: ownership.fence(instance.id) });
      }),
    );
}

/** Waits for the work, but not longer than `delayMs`: results that cannot be stored must not hold up the hand-over of others. */
async function atMost(delayMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => (timer = setTimeout(resolve, delayMs)));
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}
