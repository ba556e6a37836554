import type { Instance } from '../instances/instance.ts';
import { readDueIds, readNextDue } from './deliveries.ts';
import { endpointStoreOf } from './endpoint-store.ts';
import type { Endpoint } from './endpoint.ts';
import { newLane, roomOf, type Lane } from './lane.ts';

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

  lane(endpointId: string): LaneState | undefined {
    return this.#lanes.get(endpointId);
  }

  /** Follows the endpoints as they are now, and reads what is due where there is room and nothing is read ahead. */
  async refill(now: number): Promise<void> {
    const endpoints = await endpointStoreOf(this.instance).all(this.instance.database);
    this.#follow(endpoints.filter((endpoint) => endpoint.status === 'active'));
    for (const state of this.#lanes.values()) {
      if (state.due.length > 0 || !state.mayHaveMore || roomOf(state.lane) === 0) continue;
      await this.#read(state, now);
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

  /** When the next delivery that is not due yet will be, over all lanes. */
  async nextDue(now: number): Promise<number | undefined> {
    let next: number | undefined;
    for (const { endpoint } of this.#lanes.values()) {
      const due = await readNextDue(this.instance.database, endpoint.id, now);
      if (due !== undefined && (next === undefined || due < next)) next = due;
    }
    return next;
  }

  #follow(endpoints: readonly Endpoint[]): void {
    const active = new Set(endpoints.map((endpoint) => endpoint.id));
    for (const id of this.#lanes.keys()) if (!active.has(id)) this.#lanes.delete(id);
    for (const endpoint of endpoints) {
      const state = this.#lanes.get(endpoint.id);
      if (state !== undefined) state.endpoint = endpoint;
      else {
        const lane = newLane(endpoint.maxInFlight);
        this.#lanes.set(endpoint.id, { endpoint, lane, due: [], mayHaveMore: true });
      }
    }
  }

  /** Claimed ones are still pending and due in the rows, so as many more are read. */
  async #read(state: LaneState, now: number): Promise<void> {
    state.mayHaveMore = false;
    const limit = readAheadMax + this.claimed.size;
    const ids = await readDueIds(this.instance.database, state.endpoint.id, { now, limit });
    for (const id of ids) if (!this.claimed.has(id)) state.due.push(id);
    if (ids.length === limit) state.mayHaveMore = true;
  }
}
