import type { Instance } from '../instances/instance.ts';
import type { AttemptResult } from './sending/attempt-result.ts';
import { readDue, readPendings, type PendingDelivery } from './deliveries.ts';
import { findDueFloor } from './due-floor.ts';
import { endpointStoreOf } from './endpoints/endpoint-store.ts';
import type { Endpoint } from './endpoints/endpoint.ts';
import { afterResult, afterSend, newLane, roomOf, withinMax, type Lane } from './lane.ts';

/** Ids read ahead for one endpoint: one read per delivery would cost more than the delivery itself. */
const readAheadMax = 256;

/** What the dispatcher remembers of one endpoint. None of it must survive: the rows are the truth. */
interface LaneState {
  endpoint: Endpoint;
  lane: Lane;
  /** Ids of due deliveries that were read ahead and not sent yet. */
  readonly due: string[];
  /** False when a read has shown that nothing more is due. */
  mayHaveMore: boolean;
  /** When the first delivery is due that was not due at the last read, in milliseconds since 1970. */
  nextDue: number | undefined;
  /** False while the endpoint is paused or gone but has attempts in flight. */
  isActive: boolean;
}

/** One instance as the dispatcher sees it: a lane for each active endpoint, and what is claimed. */
export class InstanceLanes {
  readonly instance: Instance;
  /** Ids of deliveries that were sent or are about to be; they stay here until their settlement is committed. */
  readonly claimed = new Set<string>();
  readonly #lanes = new Map<string, LaneState>();

  constructor(instance: Instance) {
    this.instance = instance;
  }

  /** Makes every lane read again, as something new was committed. */
  markChanged(): void {
    for (const state of this.#lanes.values()) state.mayHaveMore = true;
  }

  /** Stops sending and reading until something changes. Ids read ahead are dropped and read again then. */
  rest(): void {
    for (const state of this.#lanes.values()) {
      state.due.length = 0;
      state.mayHaveMore = false;
      state.nextDue = undefined;
    }
  }

  /** Follows the endpoints as they are now, and reads due deliveries for lanes that have room and nothing read ahead. */
  async refill(now: number): Promise<void> {
    const endpoints = await endpointStoreOf(this.instance).all(this.instance.database);
    this.#follow(endpoints);
    for (const state of this.#lanes.values()) {
      if (state.mayHaveMore && isReadable(state)) await this.#read(state, now);
    }
  }

  /** Endpoints that have something to send, and how many deliveries each can take now. */
  sendable(): readonly { readonly endpointId: string; readonly sendable: number }[] {
    return [...this.#lanes.values()]
      .map((state) => ({
        endpointId: state.endpoint.id,
        sendable: Math.min(state.due.length, roomOf(state.lane)),
      }))
      .filter((lane) => lane.sendable > 0);
  }

  /** True while the instance must stay open even if nothing changes. */
  get isBusy(): boolean {
    return this.claimed.size > 0 || this.sendable().length > 0;
  }

  /** Removes and returns the next id that was read ahead for an endpoint. */
  take(endpointId: string): string | undefined {
    return this.#lanes.get(endpointId)?.due.shift();
  }

  /**
   * Reads those of the deliveries that are still pending. A change of an endpoint holds for all that is sent once it was answered,
   * but the lanes miss one that was made through another node or since they were filled. `endpointUpdated` of the rows shows it.
   */
  async readPendings(ids: readonly string[]): Promise<readonly PendingDelivery[]> {
    const { database } = this.instance;
    const pendings = await readPendings(database, ids);
    const areKnown = pendings.every(
      ({ endpointId, endpointUpdated }) => this.#lanes.get(endpointId)?.endpoint.updated === endpointUpdated,
    );
    if (!areKnown) this.#follow(await endpointStoreOf(this.instance).stored(database));
    return pendings;
  }

  /** Counts an attempt as open and returns its endpoint; undefined if the delivery is not to be sent now. */
  claim(endpointId: string, { id, state: { due } }: PendingDelivery, now: number): Endpoint | undefined {
    const state = this.#lanes.get(endpointId);
    if (state?.isActive !== true || this.claimed.has(id)) return undefined;
    // The id may have been read before a failure that put the delivery off was settled, or the clock was set back.
    if (due > now) {
      // The read took it for due already, so nothing else would come back for it later.
      state.nextDue = Math.min(state.nextDue ?? due, due);
      return undefined;
    }
    this.claimed.add(id);
    state.lane = afterSend(state.lane);
    return state.endpoint;
  }

  /** Ends an attempt counted by {@link claim}. The delivery stays claimed until its settlement is committed. */
  land(endpointId: string, result: AttemptResult): void {
    const state = this.#lanes.get(endpointId);
    if (state !== undefined) state.lane = afterResult(state.lane, result, state.endpoint.maxInFlight);
  }

  /** Returns when the next delivery that is not due yet will be, over all lanes that would then read it. */
  nextDue(): number | undefined {
    let next: number | undefined;
    for (const state of this.#lanes.values()) {
      const due = isReadable(state) ? state.nextDue : undefined;
      if (due !== undefined && (next === undefined || due < next)) next = due;
    }
    return next;
  }

  #follow(all: readonly Endpoint[]): void {
    const endpoints = all.filter((endpoint) => endpoint.status === 'active');
    const active = new Set(endpoints.map((endpoint) => endpoint.id));
    for (const [id, state] of this.#lanes) if (!active.has(id)) this.#leave(id, state);
    for (const endpoint of endpoints) {
      const state = this.#lanes.get(endpoint.id);
      if (state === undefined) this.#lanes.set(endpoint.id, newState(endpoint));
      else this.#keep(state, endpoint);
    }
  }

  /** Ends a lane, but keeps it while attempts are open: a new one made on resuming could let more than `maxInFlight` be open. */
  #leave(id: string, state: LaneState): void {
    state.due.length = 0;
    state.isActive = false;
    if (state.lane.inFlight === 0) this.#lanes.delete(id);
  }

  #keep(state: LaneState, endpoint: Endpoint): void {
    state.isActive = true;
    state.endpoint = endpoint;
    state.lane = withinMax(state.lane, endpoint.maxInFlight);
  }

  /** Reads ahead. Claimed deliveries are still pending and due in the rows, so that many more are read. */
  async #read(state: LaneState, now: number): Promise<void> {
    state.mayHaveMore = false;
    const limit = readAheadMax + this.claimed.size;
    const { database } = this.instance;
    const floor = findDueFloor(database, state.endpoint.id);
    const options = { now, limit, since: floor?.beginAt(now) ?? 0 };
    const { ids, firstDue, nextDue } = await readDue(database, state.endpoint.id, options);
    floor?.note(now, firstDue);
    for (const id of ids) if (!this.claimed.has(id)) state.due.push(id);
    state.nextDue = nextDue;
    if (ids.length === limit) state.mayHaveMore = true;
  }
}

function newState(endpoint: Endpoint): LaneState {
  const lane = newLane(endpoint.maxInFlight);
  return { endpoint, lane, due: [], mayHaveMore: true, nextDue: undefined, isActive: true };
}

/** True when a read could find deliveries that the lane can send. */
function isReadable(state: LaneState): boolean {
  return state.isActive && state.due.length === 0 && roomOf(state.lane) > 0;
}
