import type { Instance } from '../instances/instance.ts';
import type { AttemptResult } from './attempt-result.ts';
import { readDue, readPendings, type PendingDelivery } from './deliveries.ts';
import { findDueFloor } from './due-floor.ts';
import { endpointStoreOf } from './endpoint-store.ts';
import type { Endpoint } from './endpoint.ts';
import { afterResult, afterSend, newLane, roomOf, withinMax, type Lane } from './lane.ts';

/** Ids read ahead for one endpoint: a read for each delivery would cost more than the delivery. */
const readAheadMax = 256;

/** What one endpoint's part of the dispatcher remembers. Nothing of it needs to survive: the rows are the truth. */
interface LaneState {
  endpoint: Endpoint;
  lane: Lane;
  /** Due deliveries that were read and not sent yet. */
  readonly due: string[];
  /** False when a read has shown that nothing more is due. */
  mayHaveMore: boolean;
  /** When the first that was not due at the last read will be, in milliseconds since 1970. */
  nextDue: number | undefined;
  /** False while the endpoint is paused or gone and its last attempts are still open. */
  isActive: boolean;
}

/** One instance as the dispatcher sees it: a lane for each active endpoint, and what is claimed. */
export class InstanceLanes {
  readonly instance: Instance;
  /** Deliveries that were sent or are about to be, until their settlement is committed. */
  readonly claimed = new Set<string>();
  readonly #lanes = new Map<string, LaneState>();

  constructor(instance: Instance) {
    this.instance = instance;
  }

  /** Something new was committed: every lane looks again. */
  markChanged(): void {
    for (const state of this.#lanes.values()) state.mayHaveMore = true;
  }

  /** Sends and reads nothing until something changes; what was read ahead is read again then. */
  rest(): void {
    for (const state of this.#lanes.values()) {
      state.due.length = 0;
      state.mayHaveMore = false;
      state.nextDue = undefined;
    }
  }

  /** Follows the endpoints as they are now, and reads what is due where there is room and nothing is read ahead. */
  async refill(now: number): Promise<void> {
    const endpoints = await endpointStoreOf(this.instance).all(this.instance.database);
    this.#follow(endpoints);
    for (const state of this.#lanes.values()) {
      if (state.mayHaveMore && isReadable(state)) await this.#read(state, now);
    }
  }

  /** Endpoints with something to send, and how much they would take now. */
  sendable(): readonly { readonly endpointId: string; readonly sendable: number }[] {
    return [...this.#lanes.values()]
      .map((state) => ({
        endpointId: state.endpoint.id,
        sendable: Math.min(state.due.length, roomOf(state.lane)),
      }))
      .filter((lane) => lane.sendable > 0);
  }

  /** Whether it is needed even if nothing changes. */
  get isBusy(): boolean {
    return this.claimed.size > 0 || this.sendable().length > 0;
  }

  /** The next that was read ahead for an endpoint, which is not read ahead any more. */
  take(endpointId: string): string | undefined {
    return this.#lanes.get(endpointId)?.due.shift();
  }

  /**
   * Those that are still pending. Who has changed an endpoint was answered, and that counts for what is sent from then on: when it
   * was through another node, or since the lanes were filled, they do not know of it.
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

  /** Counts an attempt as open from now on, and says of which endpoint; undefined if the delivery is not to be sent now. */
  claim(endpointId: string, { id, state: { due } }: PendingDelivery, now: number): Endpoint | undefined {
    const state = this.#lanes.get(endpointId);
    if (state?.isActive !== true || this.claimed.has(id)) return undefined;
    // Its id may have been read before a failure was settled that has put it off, or the clock was set back.
    if (due > now) {
      // The read that gave its id took it for due now: nothing else would come back for it.
      state.nextDue = Math.min(state.nextDue ?? due, due);
      return undefined;
    }
    this.claimed.add(id);
    state.lane = afterSend(state.lane);
    return state.endpoint;
  }

  /** An attempt of {@link claim} is over. The delivery is claimed until its settlement is committed. */
  land(endpointId: string, result: AttemptResult): void {
    const state = this.#lanes.get(endpointId);
    if (state !== undefined) state.lane = afterResult(state.lane, result, state.endpoint.maxInFlight);
  }

  /** When the next delivery that is not due yet will be, over all lanes that would read it then. */
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

  /** A lane with open attempts is kept: were it made anew on resuming, more than `maxInFlight` could be open. */
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

  /** Claimed ones are still pending and due in the rows, so as many more are read. */
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

/** Whether a read would find it anything to do. */
function isReadable(state: LaneState): boolean {
  return state.isActive && state.due.length === 0 && roomOf(state.lane) > 0;
}
