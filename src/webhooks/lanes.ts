import { GenerationCache } from '../base/cache.ts';
import type { Names } from '../storage/database.ts';
import { type PendingDelivery, readDue, readPendings } from './deliveries.ts';
import { type Endpoint, endpointsMax } from './endpoints/endpoint.ts';
import type { AttemptResult } from './sending/attempt-result.ts';
import type { WebhookInstance } from './webhook-instance.ts';

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
  readonly instance: WebhookInstance;
  /** Ids of deliveries that were sent or are about to be; they stay here until their settlement is committed. */
  readonly claimed = new Set<string>();
  readonly #lanes = new Map<string, LaneState>();

  constructor(instance: WebhookInstance) {
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
    const endpoints = await this.instance.endpoints.all(this.instance.database);
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
    if (!areKnown) this.#follow(await this.instance.endpoints.stored(database));
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

/**
 * How many requests one endpoint is sent at once. The window starts small, grows by one with each success and halves when the
 * whole endpoint seems to fail, so that a receiver that comes back is not overrun by everything that has waited for it.
 */
export interface Lane {
  /** Attempts that may be open at once: 1 … the endpoint's maxInFlight. */
  readonly window: number;
  readonly inFlight: number;
}

const windowAtStart = 4;

export function newLane(maxInFlight: number): Lane {
  return { window: Math.min(windowAtStart, maxInFlight), inFlight: 0 };
}

export function roomOf(lane: Lane): number {
  return Math.max(0, lane.window - lane.inFlight);
}

/** The same lane after its endpoint was changed. */
export function withinMax(lane: Lane, maxInFlight: number): Lane {
  return lane.window <= maxInFlight ? lane : { ...lane, window: maxInFlight };
}

export function afterSend(lane: Lane): Lane {
  return { ...lane, inFlight: lane.inFlight + 1 };
}

export function afterResult(
  lane: Lane,
  result: { readonly isSuccess: boolean; readonly isEndpointWide: boolean },
  maxInFlight: number,
): Lane {
  const inFlight = Math.max(0, lane.inFlight - 1);
  if (result.isSuccess) return { window: Math.min(maxInFlight, lane.window + 1), inFlight };
  if (result.isEndpointWide) return { window: Math.max(1, Math.floor(lane.window / 2)), inFlight };
  return { ...lane, inFlight };
}

/** A delivery gets its due time before its commit. One that is committed later than this is found by a look from the start. */
const lateMs = 2_000;
const fromStartEveryMs = 5_000;

/**
 * The due time at which a look for pending deliveries begins. PostgreSQL keeps the index entries of settled rows for as long as any
 * snapshot may need them, and a look from the start steps over every one: with 100,000 of them behind one forgotten transaction,
 * each look takes tens of milliseconds more. So a look begins at the first pending delivery that the last one found, or two seconds
 * before the last one if that is earlier.
 *
 * Times are milliseconds since 1970 by the clock that deliveries are due by.
 */
export class DueFloor {
  #since = 0;
  #fromStartAt = 0;

  /** Returns where a look at `now` begins. It is 0 every 5 s and after the clock was set back, so that late commits are found. */
  beginAt(now: number): number {
    if (now >= this.#since && now < this.#fromStartAt) return this.#since;
    this.#fromStartAt = now + fromStartEveryMs;
    return 0;
  }

  /** Notes that a look at `now` found the first pending delivery due at `firstDue`, or none. */
  note(now: number, firstDue: number | undefined): void {
    this.#since = Math.min(firstDue ?? now, now - lateMs);
  }

  /** Makes the next look begin at the start. */
  reset(): void {
    this.#fromStartAt = 0;
  }
}

/** By endpoint id. Floors of deleted endpoints drop out as new ones come. */
type DueFloors = GenerationCache<string, DueFloor>;

interface FlooredDatabase {
  readonly names: Pick<Names, 'leavesDeadRows'>;
}

const floors = new WeakMap<FlooredDatabase, DueFloors>();

/**
 * Returns the floor of one endpoint, which is kept while the instance is open, longer than its lane; undefined where settled rows leave
 * no index entries behind.
 */
export function findDueFloor(database: FlooredDatabase, endpointId: string): DueFloor | undefined {
  if (!database.names.leavesDeadRows) return undefined;
  let known = floors.get(database);
  if (known === undefined) floors.set(database, (known = new GenerationCache(endpointsMax)));
  return known.findOrAdd(endpointId, () => new DueFloor());
}
