import { GenerationCache } from '../base/cache.ts';
import type { Names } from '../storage/database.ts';
import { type PendingDelivery, readDue, readPendings } from './deliveries.ts';
import { type Endpoint, endpointsMax } from './endpoints/endpoint.ts';
import { closedLane, Lane, type LaneChange, type StoredLane } from './lane.ts';
import { type LaneRow, readLanes } from './lane-store.ts';
import type { AttemptResult } from './sending/attempt-result.ts';
import { type Candidate, type DueDelivery, type LaneCandidate, SlotTime } from './slots.ts';
import type { WebhookInstance } from './webhook-instance.ts';

/** Ids read ahead for one endpoint: one read per delivery would cost more than the delivery itself. */
const readAheadMax = 256;

/** What is remembered of an instance's lanes for longer than the instance is on loan. */
export interface KnownLanes {
  /** The ownership in which it was learned: if that has been another's since, the stored lanes are read again. */
  epoch: string | undefined;
  /** What the instance has used of slots. */
  readonly time: SlotTime;
  /** By endpoint id. */
  readonly lanes: Map<string, KnownLane>;
}

interface KnownLane {
  readonly lane: Lane;
  readonly time: SlotTime;
  /** When the endpoint was changed last, and what of the lane is stored, as far as it is known here. */
  updated: string | undefined;
  stored: StoredLane;
}

export function newKnownLanes(): KnownLanes {
  return { epoch: undefined, time: new SlotTime(), lanes: new Map() };
}

/** What the dispatcher remembers of one endpoint while its instance is on loan. None of it must survive: the rows are the truth. */
interface LaneState {
  endpoint: Endpoint;
  /** Scheme, host and port of its URL. */
  origin: string;
  readonly known: KnownLane;
  /** Deliveries that were read ahead and not sent yet, the longest due first. */
  readonly due: DueDelivery[];
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
  readonly #known: KnownLanes;

  constructor(instance: WebhookInstance, known: KnownLanes) {
    this.instance = instance;
    this.#known = known;
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

  /**
   * Follows the endpoints as they are now, and reads due deliveries for lanes that have room and nothing read ahead. In another `epoch`
   * than before, another node may have changed the lanes.
   */
  async refill(now: number, epoch: string): Promise<void> {
    await this.#follow(await this.instance.endpoints.all(this.instance.database), epoch);
    for (const state of this.#lanes.values()) {
      if (state.mayHaveMore && isReadable(state, now)) await this.#read(state, now);
    }
  }

  /** What takes part in the choice of turns at `now`. */
  candidate(now: number): Candidate {
    const lanes = [...this.#lanes.values()].filter((state) => hasSendable(state, now));
    return {
      instanceId: this.instance.id,
      usedMs: this.#known.time.usedAt(now),
      lanes: lanes.map((state) => toCandidate(state, now)),
    };
  }

  /** True while the instance must stay open even if nothing changes. */
  isBusy(now: number): boolean {
    return this.claimed.size > 0 || this.#lanes.values().some((state) => hasSendable(state, now));
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
    if (!areKnown)
      await this.#follow(await this.instance.endpoints.stored(database), this.#known.epoch ?? '');
    return pendings;
  }

  /** Counts an attempt as open and returns its endpoint; undefined if the delivery is not to be sent now. */
  claim(endpointId: string, { id, state: { due } }: PendingDelivery, now: number): Endpoint | undefined {
    const state = this.#lanes.get(endpointId);
    if (state?.isActive !== true || this.claimed.has(id)) return undefined;
    // The lane may have closed, or another been opened for the endpoint, while the delivery was read.
    if (state.known.lane.roomAt(now, state.endpoint.maxInFlight) === 0) {
      state.mayHaveMore = true;
      return undefined;
    }
    // The id may have been read before a failure that put the delivery off was settled, or the clock was set back.
    if (due > now) {
      // The read took it for due already, so nothing else would come back for it later.
      state.nextDue = Math.min(state.nextDue ?? due, due);
      return undefined;
    }
    this.claimed.add(id);
    state.known.lane.send(id, now);
    state.known.time.note(1, now);
    this.#known.time.note(1, now);
    return state.endpoint;
  }

  /** Ends an attempt counted by {@link claim}. The delivery stays claimed until its settlement is committed. */
  land(
    endpointId: string,
    result: AttemptResult,
    context: { readonly now: number; readonly random: number },
  ): LaneChange | undefined {
    this.#known.time.note(-1, context.now);
    const known = this.#known.lanes.get(endpointId);
    known?.time.note(-1, context.now);
    const maxInFlight = this.#lanes.get(endpointId)?.endpoint.maxInFlight ?? 1;
    return known?.lane.end(result.deliveryId, result, { ...context, maxInFlight });
  }

  /** Returns the lanes that have changed since they were stored. */
  changedLanes(): readonly LaneRow[] {
    return [...this.#known.lanes].flatMap(([endpoint, { lane, stored, updated }]) =>
      updated === undefined || lane.stored === stored ? [] : [{ endpoint, updated, lane: lane.stored }],
    );
  }

  /** Notes that changed lanes are stored. */
  noteStored(rows: readonly LaneRow[]): void {
    for (const { endpoint, lane } of rows) {
      const known = this.#known.lanes.get(endpoint);
      if (known !== undefined) known.stored = lane;
    }
  }

  /** Returns when a lane may next begin an attempt that it must not or cannot begin now. */
  nextDue(now: number): number | undefined {
    const dues = [...this.#lanes.values()].map((state) => nextDueOf(state, now));
    const known = dues.filter((due) => due !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  async #follow(all: readonly Endpoint[], epoch: string): Promise<void> {
    const endpoints = all.filter((endpoint) => endpoint.status === 'active');
    const active = new Set(endpoints.map((endpoint) => endpoint.id));
    for (const [id, state] of this.#lanes) if (!active.has(id)) this.#leave(id, state);
    for (const id of this.#known.lanes.keys())
      if (!active.has(id) && !this.#lanes.has(id)) this.#known.lanes.delete(id);
    for (const endpoint of endpoints) this.#keep(endpoint);
    await this.#restore(endpoints, epoch);
  }

  /** Takes over what is stored of lanes that are new here, or whose endpoint or owner has changed. */
  async #restore(endpoints: readonly Endpoint[], epoch: string): Promise<void> {
    const isOurs = this.#known.epoch === epoch;
    const unknown = endpoints.filter(
      ({ id, updated }) => !isOurs || this.#known.lanes.get(id)?.updated !== updated,
    );
    if (unknown.length === 0) return;
    const stored = await readLanes(this.instance.database);
    for (const { id, updated } of unknown) {
      const known = this.#known.lanes.get(id);
      if (known === undefined) continue;
      known.stored = stored.get(id) ?? closedLane;
      known.lane.restore(known.stored);
      known.updated = updated;
    }
    this.#known.epoch = epoch;
  }

  /** Ends a lane, but keeps it while attempts are open: a new one made on resuming could let more than `maxInFlight` be open. */
  #leave(id: string, state: LaneState): void {
    state.due.length = 0;
    state.isActive = false;
    if (state.known.lane.inFlight > 0) return;
    this.#lanes.delete(id);
    this.#known.lanes.delete(id);
  }

  #keep(endpoint: Endpoint): void {
    const state = this.#lanes.get(endpoint.id);
    if (state !== undefined) {
      state.isActive = true;
      if (state.endpoint.url !== endpoint.url) state.origin = originOf(endpoint.url);
      state.endpoint = endpoint;
      return;
    }
    let known = this.#known.lanes.get(endpoint.id);
    if (known === undefined) {
      known = {
        lane: new Lane(endpoint.maxInFlight),
        time: new SlotTime(),
        updated: undefined,
        stored: closedLane,
      };
      this.#known.lanes.set(endpoint.id, known);
    }
    this.#lanes.set(endpoint.id, {
      endpoint,
      origin: originOf(endpoint.url),
      known,
      due: [],
      mayHaveMore: true,
      nextDue: undefined,
      isActive: true,
    });
  }

  /** Reads ahead. Claimed deliveries are still pending and due in the rows, so that many more are read. */
  async #read(state: LaneState, now: number): Promise<void> {
    state.mayHaveMore = false;
    const limit = readAheadMax + this.claimed.size;
    const { database } = this.instance;
    const floor = findDueFloor(database, state.endpoint.id);
    const options = { now, limit, since: floor?.beginAt(now) ?? 0 };
    const { due, firstDue, nextDue } = await readDue(database, state.endpoint.id, options);
    floor?.note(now, firstDue);
    for (const one of due) if (!this.claimed.has(one.id)) state.due.push(one);
    state.nextDue = nextDue;
    if (due.length === limit) state.mayHaveMore = true;
  }
}

function roomAt({ isActive, known, endpoint }: LaneState, now: number): number {
  return isActive ? known.lane.roomAt(now, endpoint.maxInFlight) : 0;
}

/** True when a read could find deliveries that the lane can send. */
function isReadable(state: LaneState, now: number): boolean {
  return state.due.length === 0 && roomAt(state, now) > 0;
}

function hasSendable(state: LaneState, now: number): boolean {
  return state.due.length > 0 && roomAt(state, now) > 0;
}

function toCandidate(state: LaneState, now: number): LaneCandidate {
  const { endpoint, origin, known, due } = state;
  const { lane, time } = known;
  return {
    endpointId: endpoint.id,
    origin,
    usedMs: time.usedAt(now),
    room: roomAt(state, now),
    isProven: lane.isProven(now),
    hasFailed: lane.hasFailed,
    inFlight: lane.inFlight,
    take: (mayRetry) => {
      const at = mayRetry ? 0 : due.findIndex(({ isRetry }) => !isRetry);
      return at === -1 ? undefined : due.splice(at, 1)[0];
    },
  };
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? url;
}

/** When a lane that waits for a time has, or may have, something to send; otherwise when its next delivery is due. */
function nextDueOf(state: LaneState, now: number): number | undefined {
  if (!state.isActive) return undefined;
  const { known, due, mayHaveMore, nextDue } = state;
  const opensAt = known.lane.opensAt(now);
  if (opensAt === undefined) return isReadable(state, now) ? nextDue : undefined;
  if (due.length > 0 || mayHaveMore) return opensAt;
  return nextDue === undefined ? undefined : Math.max(opensAt, nextDue);
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
