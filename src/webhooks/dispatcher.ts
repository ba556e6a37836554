import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { InstanceEntry } from '../instances/instance-directory.ts';
import type { Loan } from '../instances/open-instances.ts';
import type { AttemptRequest, AttemptResult } from './attempt-result.ts';
import { pauseEndpoint } from './change-endpoint.ts';
import { settle, type PendingDelivery } from './deliveries.ts';
import type { Endpoint } from './endpoint.ts';
import type { Flight } from './flight.ts';
import { prepareHandOver, type HandOver } from './prepare-hand-over.ts';
import { InstanceLanes } from './instance-lanes.ts';
import { afterResult, afterSend } from './lane.ts';
import { chooseTurns, type Contender, type Turn } from './choose-turns.ts';
import type { Ownership } from './ownership.ts';
import { readTaken, type Taken } from './read-taken.ts';
import { rotated } from './rotated.ts';
import type { Sender } from './sender.ts';
import { toAttemptRequest } from './to-attempt-request.ts';
import { toSettlement } from './to-settlement.ts';

/** Attempts in flight over all instances: sockets and memory of the sending thread. */
const inFlightMax = 256;
/** Instances opened in one look: each is lent to us until it has nothing more to do, and only so many can be open. */
const openedAtOnceMax = 64;
/** After a failed read or write of our own; receivers have their schedule. */
const backOffMs = 1_000;
/** Timers of the system end here; a later due time is looked at again then. */
const timerMsMax = 60_000;

export interface DispatcherOptions {
  readonly sender: Pick<Sender, 'send' | 'onResults' | 'stop'>;
  readonly instances: () => readonly InstanceEntry[];
  readonly borrow: (entry: InstanceEntry) => Promise<Loan>;
  readonly ownership: Ownership;
  /** Told of an instance with something new that another node delivers. */
  readonly onForeign: (instanceId: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
}

interface Work {
  readonly lanes: InstanceLanes;
  readonly loan: Loan;
}

/**
 * The loop that delivers: looks at instances that were woken or have something due, gives what is due to the sender, and
 * settles the results. It may look too often, never too seldom: whatever it forgets is found again at the next start.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #work = new Map<string, Work>();
  readonly #woken = new Set<string>();
  readonly #nextDue = new Map<string, number>();
  /** Of instances that could not be read. */
  readonly #restUntilMs = new Map<string, number>();
  readonly #flights = new Map<string, Flight>();
  readonly #settling = new Set<Promise<void>>();
  readonly #tests = new Map<string, PromiseWithResolvers<AttemptResult>>();
  #pumping: Promise<void> | undefined;
  #isPumpScheduled = false;
  #isStopping = false;
  /** When a stop has no more time. */
  #stopByMs = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #turn = 0;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    options.sender.onResults((results) => this.#onResults(results));
  }

  /** Looks through all instances once: what an earlier process left pending is due. */
  start(): void {
    for (const { id } of this.#options.instances()) this.#woken.add(id);
    this.#schedulePump();
  }

  wake(instanceId: string): void {
    if (!this.#options.ownership.owns(instanceId)) return this.#options.onForeign(instanceId);
    this.#woken.add(instanceId);
    this.#schedulePump();
  }

  /** Somebody has seen that the instance has a pending delivery that is due then (milliseconds since 1970). */
  noteDue(instanceId: string, due: number): void {
    if (!this.#options.ownership.owns(instanceId)) return;
    // Whoever looks again and again sees what could not be read each time.
    if ((this.#restUntilMs.get(instanceId) ?? 0) > this.#options.clock.monotonic()) return;
    this.#restUntilMs.delete(instanceId);
    if (due <= this.#options.clock.now()) return this.wake(instanceId);
    const known = this.#nextDue.get(instanceId);
    if (known !== undefined && known <= due) return;
    this.#nextDue.set(instanceId, due);
    this.#setTimer(Math.min(...this.#nextDue.values()) - this.#options.clock.now());
  }

  /** Before others go on with these instances, which are ours no longer as far as new claims go. */
  prepareHandOver(isGoing: (instanceId: string) => boolean): Promise<HandOver> {
    const { ownership, clock } = this.#options;
    const going = (): readonly Flight[] =>
      [...this.#flights.values()].filter(({ instance, isTest }) => !isTest && isGoing(instance.id));
    return prepareHandOver(going, { ownership, clock, settling: this.#settling });
  }

  /** When the instance will have something to do on its own: asked before its file is closed. */
  nextDue(instanceId: string): number | undefined {
    return this.#nextDue.get(instanceId);
  }

  /**
   * Sends one delivery now, past its lane, and resolves with what came of it once that is committed. Rejects when it cannot be
   * committed at first: that may take as long as the database is away, which is longer than anybody waits.
   */
  sendNow(loan: Loan, endpoint: Endpoint, pending: PendingDelivery): Promise<AttemptResult> {
    const outcome = Promise.withResolvers<AttemptResult>();
    this.#tests.set(pending.id, outcome);
    this.#flights.set(pending.id, { instance: loan.instance, endpoint, pending, isTest: true });
    this.#workOf(loan).lanes.claimed.add(pending.id);
    this.#options.sender.send([toAttemptRequest(endpoint, pending, this.#options.version)]);
    return outcome.promise;
  }

  /**
   * Claims stop at once; attempts in flight have `graceMs` to end. What came of them is committed before this resolves, unless
   * that fails for as long.
   */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    this.#stopByMs = this.#options.clock.monotonic() + graceMs;
    await this.#pumping;
    // Not before: the last look may have set it.
    clearTimeout(this.#timer);
    await this.#options.sender.stop(graceMs);
    await Promise.all(this.#settling);
    for (const { loan } of this.#work.values()) loan.release();
  }

  #schedulePump(): void {
    if (this.#isPumpScheduled || this.#isStopping) return;
    this.#isPumpScheduled = true;
    setImmediate(() => {
      this.#isPumpScheduled = false;
      if (this.#pumping !== undefined || this.#isStopping) return;
      this.#pumping = this.#pump()
        .then(() => {
          if (this.#hasMore()) this.#schedulePump();
        })
        .catch((error: unknown) => {
          const message = 'A look for deliveries failed; trying again.';
          this.#options.logger.error(message, { error, delayMs: backOffMs });
          this.#setTimer(backOffMs);
        })
        .finally(() => {
          this.#pumping = undefined;
        });
    });
  }

  #hasMore(): boolean {
    if (this.#flights.size >= inFlightMax) return false;
    if (this.#woken.size > 0) return true;
    for (const { lanes } of this.#work.values()) if (lanes.sendable().length > 0) return true;
    return false;
  }

  async #pump(): Promise<void> {
    await this.#openWoken();
    const now = this.#options.clock.now();
    for (const [id, { lanes }] of this.#work) {
      if (this.#options.ownership.owns(id)) await this.#orRest(lanes, () => lanes.refill(now));
      else lanes.rest();
    }
    const turns = chooseTurns(this.#contenders(), inFlightMax - this.#flights.size);
    const requests = await this.#claim(turns);
    if (requests.length > 0) this.#options.sender.send(requests);
    this.#letGo();
  }

  /** An instance whose file cannot be read must not keep the others waiting: it is left alone until it is woken. */
  async #orRest<Result>(lanes: InstanceLanes, step: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await step();
    } catch (error) {
      const instance = lanes.instance.id;
      const message = 'Deliveries could not be read; trying again.';
      this.#options.logger.error(message, { instance, error, delayMs: backOffMs });
      lanes.rest();
      this.#nextDue.set(instance, this.#options.clock.now() + backOffMs);
      this.#restUntilMs.set(instance, this.#options.clock.monotonic() + backOffMs);
      return undefined;
    }
  }

  async #openWoken(): Promise<void> {
    const now = this.#options.clock.now();
    for (const [id, due] of this.#nextDue) if (due <= now) this.#woken.add(id);
    const woken = [...this.#woken];
    this.#woken.clear();
    let opened = 0;
    for (const id of woken) {
      let work = this.#work.get(id);
      if (work === undefined && opened === openedAtOnceMax) {
        this.#woken.add(id);
        continue;
      }
      this.#nextDue.delete(id);
      if (work === undefined) {
        opened += 1;
        work = await this.#open(id);
      }
      work?.lanes.markChanged();
    }
  }

  async #open(id: string): Promise<Work | undefined> {
    const entry = this.#options.instances().find((candidate) => candidate.id === id);
    if (entry === undefined || !this.#options.ownership.owns(id)) return undefined;
    try {
      return this.#workOf(await this.#options.borrow(entry));
    } catch (error) {
      this.#options.logger.error('An instance could not be opened to deliver its webhooks.', {
        instance: id,
        error,
      });
      this.#nextDue.set(id, this.#options.clock.now() + timerMsMax);
      return undefined;
    }
  }

  #workOf(loan: Loan): Work {
    const known = this.#work.get(loan.instance.id);
    if (known !== undefined) {
      if (known.loan !== loan) loan.release();
      return known;
    }
    const work = { lanes: new InstanceLanes(loan.instance), loan };
    this.#work.set(loan.instance.id, work);
    return work;
  }

  /**
   * Another instance is first each time, and when all have been, another endpoint of each: the first ones would win
   * whenever there is less room than demand.
   */
  #contenders(): readonly Contender[] {
    const round = Math.floor(this.#turn / Math.max(1, this.#work.size));
    const all = [...this.#work].map(([instanceId, { lanes }]) => ({
      instanceId,
      lanes: rotated(lanes.sendable(), round),
    }));
    this.#turn += 1;
    return rotated(all, this.#turn);
  }

  async #claim(turns: readonly Turn[]): Promise<readonly AttemptRequest[]> {
    const taken = turns.map((turn) => this.#take(turn)).filter((one) => one !== undefined);
    // Read now and not ahead: it may have been settled or cancelled since its id was read, and bodies are large.
    const found = await readTaken(taken, (lanes, read) => this.#orRest(lanes, read));
    const requests = taken.map((one) => this.#send(one, found.get(one.id)));
    return requests.filter((request) => request !== undefined);
  }

  #take({ instanceId, endpointId }: Turn): Taken | undefined {
    const lanes = this.#work.get(instanceId)?.lanes;
    const id = lanes?.lane(endpointId)?.due.shift();
    return lanes === undefined || id === undefined ? undefined : { lanes, endpointId, id };
  }

  #send({ lanes, endpointId, id }: Taken, pending: PendingDelivery | undefined): AttemptRequest | undefined {
    const { instance, claimed } = lanes;
    const state = lanes.lane(endpointId);
    if (state === undefined || pending === undefined || claimed.has(id)) return undefined;
    // Asked again: while it was read, the instance may have been given to another node.
    if (!this.#options.ownership.owns(instance.id)) return undefined;
    // Its id may have been read before a failure was settled that has put it off, or the clock was set back.
    const { due } = pending.state;
    if (due > this.#options.clock.now()) {
      // The read that gave its id took it for due now: nothing else would come back for it.
      state.nextDue = Math.min(state.nextDue ?? due, due);
      return undefined;
    }
    claimed.add(id);
    state.lane = afterSend(state.lane);
    this.#flights.set(id, { instance, endpoint: state.endpoint, pending, isTest: false });
    return toAttemptRequest(state.endpoint, pending, this.#options.version);
  }

  #onResults(results: readonly AttemptResult[]): void {
    const byInstance = new Map<string, AttemptResult[]>();
    for (const result of results) {
      const flight = this.#flights.get(result.deliveryId);
      if (flight === undefined) continue;
      const state = this.#work.get(flight.instance.id)?.lanes.lane(flight.endpoint.id);
      if (state !== undefined && !flight.isTest) {
        state.lane = afterResult(state.lane, result, state.endpoint.maxInFlight);
      }
      const list = byInstance.get(flight.instance.id) ?? [];
      list.push(result);
      byInstance.set(flight.instance.id, list);
    }
    for (const [instanceId, list] of byInstance) this.#track(this.#settleResults(instanceId, list));
    this.#schedulePump();
  }

  #track(settling: Promise<void>): void {
    this.#settling.add(settling);
    void settling.finally(() => this.#settling.delete(settling));
  }

  /** One work for all results of an instance: they join whatever records are being written. Kept up until it succeeds. */
  async #settleResults(instanceId: string, results: readonly AttemptResult[]): Promise<void> {
    const work = this.#work.get(instanceId);
    if (work === undefined) return;
    const { instance } = work.lanes;
    while (true) {
      // Anew each time: meanwhile the instance may have been handed over, and they are ours for another reason.
      const settlements = results.flatMap((result) => {
        const flight = this.#flights.get(result.deliveryId);
        return flight === undefined ? [] : [toSettlement(flight, result, this.#options)];
      });
      try {
        const now = this.#options.clock.now();
        // Whoever reads that something was delivered, and finds it pending after a power cut, has it sent once more.
        await instance.database.write((tx) => settle(tx, settlements, now), { isSyncedAside: true });
        break;
      } catch (error) {
        this.#options.logger.error('Results of attempts could not be stored.', {
          instance: instanceId,
          error,
        });
        for (const { deliveryId } of results) this.#tests.get(deliveryId)?.reject(error);
        // When a stop ends now, these deliveries are pending and will be sent again: a duplicate, not a loss.
        if (this.#options.clock.monotonic() >= this.#stopByMs) break;
        await new Promise((resolve) => setTimeout(resolve, backOffMs));
      }
    }
    const gone = this.#goneEndpoints(results);
    for (const result of results) this.#finish(work, result);
    await this.#pauseGone(work, gone);
    this.wake(instanceId);
  }

  #finish(work: Work, result: AttemptResult): void {
    work.lanes.claimed.delete(result.deliveryId);
    this.#flights.delete(result.deliveryId);
    this.#tests.get(result.deliveryId)?.resolve(result);
    this.#tests.delete(result.deliveryId);
  }

  /** 410 Gone: the receiver says that it wants no more (RFC 9110 section 15.5.11). */
  #goneEndpoints(results: readonly AttemptResult[]): ReadonlySet<Endpoint> {
    const gone = results.filter((result) => result.status === 410);
    const flights = gone.map((result) => this.#flights.get(result.deliveryId));
    return new Set(flights.filter((flight) => flight !== undefined).map((flight) => flight.endpoint));
  }

  async #pauseGone({ lanes: { instance } }: Work, gone: ReadonlySet<Endpoint>): Promise<void> {
    for (const endpoint of gone) {
      try {
        await pauseEndpoint(instance, endpoint, 'The receiver answered 410 Gone.');
      } catch (error) {
        // The next attempt is answered with 410 as well.
        const message = 'An endpoint that answered 410 Gone could not be paused.';
        this.#options.logger.error(message, { instance: instance.id, endpoint: endpoint.id, error });
      }
    }
  }

  /** Gives back instances that have nothing to do now, and remembers when any of them will. */
  #letGo(): void {
    for (const [id, { lanes, loan }] of this.#work) {
      const due = lanes.nextDue();
      if (due !== undefined) this.#nextDue.set(id, due);
      if (this.#isBusy(id, lanes)) continue;
      this.#work.delete(id);
      loan.release();
    }
    const next = Math.min(...this.#nextDue.values());
    if (Number.isFinite(next)) this.#setTimer(next - this.#options.clock.now());
  }

  #isBusy(id: string, lanes: InstanceLanes): boolean {
    return lanes.claimed.size > 0 || lanes.sendable().length > 0 || this.#woken.has(id);
  }

  #setTimer(delayMs: number): void {
    clearTimeout(this.#timer);
    // Whoever still tells of something new must not bring back what a stop has cleared.
    if (this.#isStopping) return;
    this.#timer = setTimeout(() => this.#schedulePump(), Math.min(Math.max(delayMs, 0), timerMsMax));
  }
}
