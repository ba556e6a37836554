import { setImmediate as nextTurn } from 'node:timers/promises';
import { type PendingDelivery, readPendings, sendAnyway, type SendPolicy } from '../deliveries.ts';
import { AccountDecisions, type DecisionPort } from '../accounts/account-decisions.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { ReplayRunner } from '../replays/replay-runner.ts';
import type { AttemptResult } from '../sending/attempt-result.ts';
import type { WebhookInstance } from '../webhook-instance.ts';
import {
  type BorrowedLane,
  hasSendable,
  hasSlot,
  isReadable,
  type LaneMemory,
  newLaneMemory,
  originOf,
  roomAt,
  toCandidate,
  waitOf,
} from './borrowed-lane.ts';
import { closedLane, type LaneChange } from './lane.ts';
import { type AlertState, type LaneAlerts, type LaneRow, noAlerts, readLanes } from './lane-store.ts';
import { type Candidate, type Slots, SlotTime, type Turn } from './slots.ts';

/** What is remembered of an instance's lanes for longer than the instance is on loan. */
export interface KnownLanes {
  /** The ownership in which it was learned: if that has been another's since, the stored lanes are read again. */
  epoch: string | undefined;
  /** What the instance has used of slots. */
  readonly time: SlotTime;
  readonly replays: ReplayRunner;
  readonly decisions: AccountDecisions;
  /** By endpoint id. */
  readonly lanes: Map<string, LaneMemory>;
}

export function newKnownLanes(): KnownLanes {
  const [replays, decisions] = [new ReplayRunner(), new AccountDecisions()];
  return { epoch: undefined, time: new SlotTime(), replays, decisions, lanes: new Map() };
}

/** When a look is made, and what it may rely on. */
export interface LookContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** No event at or before this position can appear any more. */
  readonly safe: number;
  /** In another one than before, another node may have changed the lanes. */
  readonly epoch: string;
  readonly decisions: DecisionPort;
}

/** What makes lanes go on. */
export interface Wakes {
  readonly slots: Slots;
  readonly wakesAt: number | undefined;
}

/** A cursor is stored with the settlements that follow, at most this often. */
const cursorEveryMs = 1_000;
/** Reads for one lane in one look: others wait meanwhile. */
const readsMax = 16;
/** Rows of an instance that are read in one look, and in one turn of the event loop: about 3 ms of them. A statement takes the time of some. */
const rowsOfLookMax = 8_192;
const rowsOfTurnMax = 2_048;
const rowsOfStatement = 64;
/** Cursors that are stored with one settlement; the others wait for the next. */
const cursorsTogetherMax = 64;

/** One instance as the dispatcher sees it: a lane for each active endpoint, and what is claimed. */
export class InstanceLanes {
  readonly instance: WebhookInstance;
  readonly #lanes = new Map<string, BorrowedLane>();
  readonly #known: KnownLanes;
  /** Tests under way: they are of no lane. */
  #tests = 0;
  #safe = 0;
  /** Which of the lanes is read next. */
  #next = 0;

  constructor(instance: WebhookInstance, known: KnownLanes) {
    this.instance = instance;
    this.#known = known;
  }

  /** Makes every lane read again, as something new was committed. */
  markChanged(): void {
    this.#known.decisions.noteChange();
    for (const { memory } of this.#lanes.values()) memory.source.noteChange();
  }

  /** Stops sending and reading until something changes. What was read ahead is dropped and read again then. */
  rest(): void {
    for (const { memory } of this.#lanes.values()) memory.source.drop();
  }

  /** Follows the endpoints as they are now, and reads due deliveries for lanes that have room and nothing read ahead. */
  async refill({ now, safe, epoch, decisions }: LookContext): Promise<void> {
    const { endpoints, database } = this.instance;
    this.#safe = safe;
    const all = await endpoints.all(database);
    await this.#follow(all, epoch);
    this.#known.decisions.advance(this.instance, { ...decisions, endpoints: all, epoch });
    if (await this.#known.replays.advance(this.instance, all, now)) this.markChanged();
    await this.#readSome(now);
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
    if (this.#tests > 0 || this.#known.decisions.isRunning) return true;
    return this.#lanes
      .values()
      .some((state) => state.memory.source.claimedCount > 0 || hasSendable(state, now));
  }

  /** Resolves when nothing is being decided for endpoints of accounts. */
  decided(): Promise<void> {
    return this.#known.decisions.settled();
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
    const { lane, source, time, bucket } = state.memory;
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
    let cursors = 0;
    return [...this.#known.lanes.values()].flatMap((known) => {
      const { lane, stored, updated, source, number } = known;
      if (updated === undefined) return [];
      const isStored = lane.stored === stored;
      const isCursorDue = Math.abs(now - known.cursorStoredAt) >= cursorEveryMs;
      const cursor = isStored && !isCursorDue ? known.storedCursor : source.low;
      if (isStored && (cursor <= known.storedCursor || cursors >= cursorsTogetherMax)) return [];
      if (isStored) cursors += 1;
      return [{ endpoint: number, updated, lane: lane.stored, cursor }];
    });
  }

  /** Notes that changed lanes are stored. */
  noteStored(rows: readonly LaneRow[], now: number): void {
    const byEndpoint = new Map(rows.map((row) => [row.endpoint, row]));
    for (const known of this.#known.lanes.values()) {
      const row = byEndpoint.get(known.number);
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

  /** Returns when a lane may next begin an attempt that it must not begin `now`. */
  nextDue(now: number): number | undefined {
    const waits = [...this.#lanes.values()].map((state) => waitOf(state, now));
    const dues = waits.flatMap((wait) => (wait.kind === 'time' ? [wait.at] : []));
    if (this.#known.replays.nextAt !== undefined) dues.push(this.#known.replays.nextAt);
    return dues.length === 0 ? undefined : Math.min(...dues);
  }

  /**
   * Returns the endpoints whose lanes stand still at a time between two looks: nothing that is going to happen makes them go on. `wakesAt` is
   * when the instance is looked at next; undefined when it is not.
   */
  stalled(now: number, { slots, wakesAt }: Wakes): readonly string[] {
    if (wakesAt !== undefined && wakesAt <= now) return [];
    const stalled = [...this.#lanes.values()].filter((state) => {
      const wait = waitOf(state, now);
      if (wait.kind === 'time') return wakesAt === undefined || wakesAt > wait.at;
      if (wait.kind === 'slot') return hasSlot(state, { slots, instanceId: this.instance.id, now });
      return wait.kind === 'look';
    });
    return stalled.map(({ endpoint }) => endpoint.id);
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
  #leave(id: string, state: BorrowedLane): void {
    const { source } = state.memory;
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
      state.memory.url = endpoint.url;
      state.endpoint = endpoint;
      return;
    }
    let known = this.#known.lanes.get(endpoint.id);
    if (known === undefined) {
      known = newLaneMemory(endpoint, this.instance);
      this.#known.lanes.set(endpoint.id, known);
    }
    known.url = endpoint.url;
    // It may have been told of something since the lane was on loan before.
    known.source.noteChange();
    this.#lanes.set(endpoint.id, { endpoint, origin: originOf(endpoint.url), memory: known, isActive: true });
  }

  /**
   * Reads for some of the lanes, in turns: with a thousand of them, one look at all would hold up this thread and the webhooks of all other
   * instances. The others are read by the looks that follow, as there is more to read.
   */
  async #readSome(now: number): Promise<void> {
    const lanes = [...this.#lanes.values()];
    let [rows, turnEnds] = [0, rowsOfTurnMax];
    for (let count = 0; count < lanes.length && rows < rowsOfLookMax; count += 1) {
      this.#next = (this.#next + 1) % lanes.length;
      const state = lanes[this.#next];
      if (state !== undefined) rows += await this.#read(state, now);
      if (rows < turnEnds) continue;
      turnEnds = rows + rowsOfTurnMax;
      await nextTurn();
    }
  }

  /** Returns how many rows that took. */
  async #read(state: BorrowedLane, now: number): Promise<number> {
    const { endpoint, memory } = state;
    const { database } = this.instance;
    const { number, order } = endpoint;
    const look = { endpoint: number, now, safe: this.#safe, order };
    let rows = 0;
    for (let reads = 0; reads < readsMax && isReadable(state, now); reads += 1)
      rows += rowsOfStatement + (await memory.source.read(database, look));
    return rows;
  }
}
