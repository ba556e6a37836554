import { type PendingDelivery, readPendings, sendAnyway, type SendPolicy } from '../deliveries.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { closedLane, Lane, type LaneChange, type StoredLane } from './lane.ts';
import { LaneSource } from './lane-source.ts';
import { type AlertState, type LaneAlerts, type LaneRow, noAlerts, readLanes } from './lane-store.ts';
import { ReplayRunner } from '../replays/replay-runner.ts';
import type { AttemptResult } from '../sending/attempt-result.ts';
import { type Candidate, type LaneCandidate, SlotTime, type Turn } from './slots.ts';
import { TokenBucket } from './token-bucket.ts';
import type { WebhookInstance } from '../webhook-instance.ts';

/** What is remembered of an instance's lanes for longer than the instance is on loan. */
export interface KnownLanes {
  /** The ownership in which it was learned: if that has been another's since, the stored lanes are read again. */
  epoch: string | undefined;
  /** What the instance has used of slots. */
  readonly time: SlotTime;
  readonly replays: ReplayRunner;
  /** By endpoint id. */
  readonly lanes: Map<string, KnownLane>;
}

interface KnownLane {
  /** That of the endpoint. */
  readonly number: number;
  readonly lane: Lane;
  readonly source: LaneSource;
  readonly time: SlotTime;
  readonly bucket: TokenBucket;
  /** When the endpoint was changed last, and what of the lane is stored, as far as it is known here. */
  updated: string | undefined;
  stored: StoredLane;
  storedCursor: number;
  alerts: LaneAlerts;
  /** When the cursor was stored last, in milliseconds since 1970. */
  cursorStoredAt: number;
}

export function newKnownLanes(): KnownLanes {
  return { epoch: undefined, time: new SlotTime(), replays: new ReplayRunner(), lanes: new Map() };
}

/** What the dispatcher knows of one endpoint while its instance is on loan. None of it must survive: the rows are the truth. */
interface LaneState {
  endpoint: Endpoint;
  /** Scheme, host and port of its URL. */
  origin: string;
  readonly known: KnownLane;
  /** False while the endpoint is paused or gone but has attempts in flight. */
  isActive: boolean;
}

/** When a look is made, and what it may rely on. */
export interface LookContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** No event at or before this position can appear any more. */
  readonly safe: number;
  /** In another one than before, another node may have changed the lanes. */
  readonly epoch: string;
}

/** A cursor is stored with the settlements that follow, at most this often. */
const cursorEveryMs = 1_000;
/** Reads for one lane in one look: others wait meanwhile. */
const readsMax = 16;

/** One instance as the dispatcher sees it: a lane for each active endpoint, and what is claimed. */
export class InstanceLanes {
  readonly instance: WebhookInstance;
  readonly #lanes = new Map<string, LaneState>();
  readonly #known: KnownLanes;
  /** Tests under way: they are of no lane. */
  #tests = 0;
  #safe = 0;

  constructor(instance: WebhookInstance, known: KnownLanes) {
    this.instance = instance;
    this.#known = known;
  }

  /** Makes every lane read again, as something new was committed. */
  markChanged(): void {
    for (const { known } of this.#lanes.values()) known.source.noteChange();
  }

  /** Stops sending and reading until something changes. What was read ahead is dropped and read again then. */
  rest(): void {
    for (const { known } of this.#lanes.values()) known.source.drop();
  }

  /** Follows the endpoints as they are now, and reads due deliveries for lanes that have room and nothing read ahead. */
  async refill({ now, safe, epoch }: LookContext): Promise<void> {
    const { endpoints, database } = this.instance;
    this.#safe = safe;
    const all = await endpoints.all(database);
    await this.#follow(all, epoch);
    if (await this.#known.replays.advance(this.instance, all, now)) this.markChanged();
    for (const state of this.#lanes.values()) await this.#read(state, now);
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
    if (this.#tests > 0) return true;
    return this.#lanes
      .values()
      .some((state) => state.known.source.claimedCount > 0 || hasSendable(state, now));
  }

  /** Whether a lane has not read all that it could send. */
  hasUnread(now: number): boolean {
    return this.#lanes.values().some((state) => isReadable(state, now));
  }

  /**
   * Reads those deliveries that are still pending. A change of an endpoint holds for all that is sent once it was answered,
   * but the lanes miss one that was made through another node or since they were filled. `endpointUpdated` of the rows shows it.
   */
  async readPendings(turns: readonly Turn[], now: number): Promise<readonly PendingDelivery[]> {
    const { database, endpoints } = this.instance;
    const asked = new Map<number, Endpoint>();
    const keys = turns.flatMap(({ endpointId, event }) => {
      const endpoint = this.#lanes.get(endpointId)?.endpoint;
      if (endpoint === undefined) return [];
      asked.set(endpoint.number, endpoint);
      return [{ event, endpoint: endpoint.number }];
    });
    const policyOf = (number: number): SendPolicy => asked.get(number) ?? sendAnyway;
    const pendings = await readPendings(database, { keys, policyOf, instance: this.instance, now });
    const areKnown = pendings.every(
      ({ endpointId, endpointUpdated }) => this.#lanes.get(endpointId)?.endpoint.updated === endpointUpdated,
    );
    if (!areKnown) await this.#follow(await endpoints.stored(database), this.#known.epoch ?? '');
    return pendings;
  }

  /** Counts an attempt as open and returns its endpoint; undefined if the delivery is not to be sent now. */
  claim(turn: Turn, pending: PendingDelivery | undefined, now: number): Endpoint | undefined {
    const state = this.#lanes.get(turn.endpointId);
    if (state === undefined) return undefined;
    const { lane, source, time, bucket } = state.known;
    if (!state.isActive || source.isClaimed(turn.event)) return undefined;
    if (pending === undefined) {
      source.release(turn.event);
      return undefined;
    }
    // The lane may have closed, or another been opened for the endpoint, while the delivery was read.
    if (roomAt(state, now) === 0) {
      source.putBack(turn);
      return undefined;
    }
    const { due } = pending.state;
    // It may have been read before a failure that put the delivery off was settled, or the clock was set back.
    if (due !== undefined && due > now) {
      // The read took it for due already, so nothing else would come back for it later.
      source.nextDue = Math.min(source.nextDue ?? due, due);
      source.release(turn.event);
      return undefined;
    }
    source.claim(turn.event);
    if (pending.fate !== 'send') return state.endpoint;
    lane.send(pending.id, now);
    bucket.take(now, state.endpoint.rateLimit);
    time.note(1, now);
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

  /** Ends a claim, as its settlement is committed; an aborted first attempt has none and is made again. */
  settled({ endpointId, key, state }: PendingDelivery, isAborted: boolean): void {
    const source = this.#known.lanes.get(endpointId)?.source;
    if (isAborted && state.due === undefined) source?.abort(key.event);
    else source?.release(key.event);
  }

  /** Sends nothing more to an endpoint of a strict order whose delivery is exhausted, until it is resumed. */
  block(endpointId: string, cause: string): void {
    this.#known.lanes.get(endpointId)?.lane.block(cause);
  }

  /** Notes that a test is under way (1), or is over (-1). */
  noteTest(by: 1 | -1): void {
    this.#tests += by;
  }

  /** Whether an endpoint is sent one delivery after the other, in the order of the log. */
  get hasStrict(): boolean {
    return this.#lanes.values().some(({ endpoint }) => endpoint.order === 'strict');
  }

  /** Returns the lanes that have changed since they were stored. */
  changedLanes(now: number): readonly LaneRow[] {
    return [...this.#known.lanes.values()].flatMap((known) => {
      const { lane, stored, updated, source, number } = known;
      if (updated === undefined) return [];
      const isStored = lane.stored === stored;
      const isCursorDue = Math.abs(now - known.cursorStoredAt) >= cursorEveryMs;
      const cursor = isStored && !isCursorDue ? known.storedCursor : source.low;
      if (isStored && cursor <= known.storedCursor) return [];
      return [{ endpoint: number, updated, lane: lane.stored, cursor }];
    });
  }

  /** Notes that changed lanes are stored. */
  noteStored(rows: readonly LaneRow[], now: number): void {
    for (const known of this.#known.lanes.values()) {
      const row = rows.find(({ endpoint }) => endpoint === known.number);
      if (row === undefined) continue;
      known.stored = row.lane;
      known.storedCursor = row.cursor;
      known.cursorStoredAt = now;
    }
  }

  /** Returns what decides about alerts of an endpoint; undefined while what is stored of it is not known here. */
  alertState(endpointId: string): AlertState | undefined {
    const { updated, alerts, lane } = this.#known.lanes.get(endpointId) ?? {};
    if (updated === undefined || alerts === undefined || lane === undefined) return undefined;
    return { updated, alerts, lane: lane.stored };
  }

  /** Notes that an alert is stored. */
  noteAlerts(endpointId: string, alerts: LaneAlerts): void {
    const known = this.#known.lanes.get(endpointId);
    if (known !== undefined) known.alerts = alerts;
  }

  /** Returns when a lane may next begin an attempt that it must not or cannot begin now. */
  nextDue(now: number): number | undefined {
    const dues = [...this.#lanes.values()].map((state) => nextDueOf(state, now));
    dues.push(this.#known.replays.nextAt);
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
    await this.#known.replays.reload(this.instance.database);
    const stored = await readLanes(this.instance.database);
    for (const { id, number, updated } of unknown) {
      const known = this.#known.lanes.get(id);
      if (known === undefined) continue;
      const { lane = closedLane, cursor = 0, alerts = noAlerts } = stored.get(number) ?? {};
      known.alerts = alerts;
      known.stored = lane;
      known.storedCursor = cursor;
      known.lane.restore(lane);
      known.source.restart(cursor);
      known.updated = updated;
    }
    this.#known.epoch = epoch;
  }

  /** Ends a lane, but keeps it while attempts are open: a new one made on resuming could let more than `maxInFlight` be open. */
  #leave(id: string, state: LaneState): void {
    const { source } = state.known;
    source.drop();
    state.isActive = false;
    if (source.claimedCount > 0) return;
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
      known = newKnownLane(endpoint, this.instance);
      this.#known.lanes.set(endpoint.id, known);
    }
    // It may have been told of something since the lane was on loan before.
    known.source.noteChange();
    this.#lanes.set(endpoint.id, { endpoint, origin: originOf(endpoint.url), known, isActive: true });
  }

  async #read(state: LaneState, now: number): Promise<void> {
    const { endpoint, known } = state;
    const { database } = this.instance;
    const { number, order } = endpoint;
    const look = { endpoint: number, now, safe: this.#safe, endpoints: this.#lanes.size, order };
    for (let reads = 0; reads < readsMax && isReadable(state, now); reads += 1)
      await known.source.read(database, look);
  }
}

function newKnownLane({ number, maxInFlight }: Endpoint, { database }: WebhookInstance): KnownLane {
  return {
    number,
    lane: new Lane(maxInFlight),
    source: new LaneSource(0, database.names),
    time: new SlotTime(),
    bucket: new TokenBucket(),
    updated: undefined,
    stored: closedLane,
    storedCursor: 0,
    alerts: noAlerts,
    cursorStoredAt: 0,
  };
}

function roomAt({ isActive, known, endpoint }: LaneState, now: number): number {
  if (!isActive) return 0;
  const { order, maxInFlight, rateLimit } = endpoint;
  const { lane, bucket, source } = known;
  // A delivery of a strict order that is not to be sent is open in no lane, but claimed until that is stored.
  if (order === 'strict' && source.claimedCount > 0) return 0;
  const room = lane.roomAt(now, order === 'strict' ? 1 : maxInFlight);
  return rateLimit === 0 ? room : Math.min(room, bucket.available(now, rateLimit));
}

/** True when a read could find deliveries that the lane can send. */
function isReadable(state: LaneState, now: number): boolean {
  const { source } = state.known;
  return source.mayHaveMore && source.isEmpty && roomAt(state, now) > 0;
}

function hasSendable(state: LaneState, now: number): boolean {
  return !state.known.source.isEmpty && roomAt(state, now) > 0;
}

function toCandidate(state: LaneState, now: number): LaneCandidate {
  const { endpoint, origin, known } = state;
  const { lane, source, time } = known;
  return {
    endpointId: endpoint.id,
    origin,
    usedMs: time.usedAt(now),
    room: roomAt(state, now),
    isProven: lane.isProven(now),
    hasFailed: lane.hasFailed,
    inFlight: lane.inFlight,
    take: (mayRetry) => source.take(mayRetry),
  };
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? url;
}

/** When a lane that waits for a time has, or may have, something to send; otherwise when its next delivery is due. */
function nextDueOf(state: LaneState, now: number): number | undefined {
  if (!state.isActive) return undefined;
  const { lane, source, bucket } = state.known;
  const { nextDue } = source;
  const { rateLimit } = state.endpoint;
  const tokenAt = rateLimit === 0 ? now : bucket.nextAt(now, rateLimit);
  const opensAt = lane.opensAt(now) ?? (tokenAt > now ? tokenAt : undefined);
  if (opensAt === undefined) return roomAt(state, now) > 0 && source.isEmpty ? nextDue : undefined;
  if (!source.isEmpty || source.mayHaveMore) return opensAt;
  return nextDue === undefined ? undefined : Math.max(opensAt, nextDue);
}
