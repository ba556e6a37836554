import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { AttemptResult } from './attempt-result.ts';
import { pauseEndpoint } from './change-endpoint.ts';
import { settle } from './deliveries.ts';
import type { Endpoint } from './endpoint.ts';
import type { Flight } from './flight.ts';
import type { InstanceLanes } from './instance-lanes.ts';
import type { Ownership } from './ownership.ts';
import { prepareHandOver, type HandOver } from './prepare-hand-over.ts';
import { toSettlement } from './to-settlement.ts';

/** After a write of our own that failed; receivers have their schedule. */
const backOffMs = 1_000;

export interface FlightsOptions {
  readonly ownership: Ownership;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Results of this instance are settled: there is room for more of it. */
  readonly onSettled: (instanceId: string) => void;
}

/** What was claimed and is not settled yet: takes results as they come, and keeps settling them until that is committed. */
export class Flights {
  readonly #options: FlightsOptions;
  readonly #flights = new Map<string, Flight>();
  readonly #settling = new Set<Promise<void>>();
  #claimedCount = 0;
  #giveUpAtMs = Number.POSITIVE_INFINITY;

  constructor(options: FlightsOptions) {
    this.#options = options;
  }

  /** Without tests: whoever asks for those takes no deliveries' place. */
  get claimedCount(): number {
    return this.#claimedCount;
  }

  add(flight: Flight): void {
    if (flight.test === undefined) this.#claimedCount += 1;
    this.#flights.set(flight.pending.id, flight);
  }

  /** Attempts are over. Those of an instance are settled together. */
  land(results: readonly AttemptResult[]): void {
    const byInstance = new Map<InstanceLanes, AttemptResult[]>();
    for (const result of results) {
      const flight = this.#flights.get(result.deliveryId);
      if (flight === undefined) continue;
      const { lanes, endpoint, test } = flight;
      if (test === undefined) lanes.land(endpoint.id, result);
      const list = byInstance.get(lanes) ?? [];
      list.push(result);
      byInstance.set(lanes, list);
    }
    for (const [lanes, list] of byInstance) this.#track(this.#settle(lanes, list));
  }

  /** Before others go on with these instances, which are ours no longer as far as new claims go. */
  prepareHandOver(isGoing: (instanceId: string) => boolean): Promise<HandOver> {
    const { ownership, clock } = this.#options;
    const going = (): readonly Flight[] =>
      [...this.#flights.values()].filter(
        ({ lanes, test }) => test === undefined && isGoing(lanes.instance.id),
      );
    return prepareHandOver(going, { ownership, clock, settling: this.#settling });
  }

  /** What cannot be stored then (by the monotonic clock) is not tried again. */
  giveUpAt(monotonicMs: number): void {
    this.#giveUpAtMs = monotonicMs;
  }

  /** Resolves when everything that has landed so far is settled or given up. */
  async settled(): Promise<void> {
    await Promise.all(this.#settling);
  }

  #track(settling: Promise<void>): void {
    this.#settling.add(settling);
    void settling.finally(() => this.#settling.delete(settling));
  }

  async #settle(lanes: InstanceLanes, results: readonly AttemptResult[]): Promise<void> {
    await this.#store(lanes, results);
    const gone = this.#goneEndpoints(results);
    for (const result of results) this.#finish(lanes, result);
    await this.#pauseGone(lanes, gone);
    this.#options.onSettled(lanes.instance.id);
  }

  /** One work for all results of an instance: they join whatever records are being written. Kept up until it succeeds. */
  async #store({ instance }: InstanceLanes, results: readonly AttemptResult[]): Promise<void> {
    const { clock, logger } = this.#options;
    while (true) {
      // Anew each time: meanwhile the instance may have been handed over, and they are ours for another reason.
      const settlements = results.flatMap((result) => {
        const flight = this.#flights.get(result.deliveryId);
        return flight === undefined ? [] : [toSettlement(flight, result, this.#options)];
      });
      try {
        const now = clock.now();
        // What is lost by a power cut before it is on the disk is sent once more.
        return await instance.database.write((tx) => settle(tx, settlements, now), { isSyncedAside: true });
      } catch (error) {
        logger.error('Results of attempts could not be stored.', { instance: instance.id, error });
        for (const { deliveryId } of results) this.#flights.get(deliveryId)?.test?.reject(error);
        // When a stop ends now, these deliveries are pending and will be sent again: a duplicate, not a loss.
        if (clock.monotonic() >= this.#giveUpAtMs) return;
        await new Promise((resolve) => setTimeout(resolve, backOffMs));
      }
    }
  }

  #finish({ claimed }: InstanceLanes, result: AttemptResult): void {
    claimed.delete(result.deliveryId);
    const flight = this.#flights.get(result.deliveryId);
    if (flight === undefined) return;
    flight.test?.resolve(result);
    if (flight.test === undefined) this.#claimedCount -= 1;
    this.#flights.delete(result.deliveryId);
  }

  /** 410 Gone: the receiver says that it wants no more (RFC 9110 section 15.5.11). */
  #goneEndpoints(results: readonly AttemptResult[]): ReadonlySet<Endpoint> {
    const gone = results.filter((result) => result.status === 410);
    const flights = gone.map((result) => this.#flights.get(result.deliveryId));
    return new Set(flights.filter((flight) => flight !== undefined).map((flight) => flight.endpoint));
  }

  async #pauseGone({ instance }: InstanceLanes, gone: ReadonlySet<Endpoint>): Promise<void> {
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
}
