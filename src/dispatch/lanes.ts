import { assert } from '../base/assert.ts';
import {
  type DeliveryKey,
  type PendingDelivery,
  readPendings,
  sendAnyway,
  type SendPolicy,
} from '../deliveries/deliveries.ts';
import { AccountDecisions, type DecisionPort } from '../deliveries/accounts/account-decisions.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { ReplayRunner } from '../deliveries/replays/replay-runner.ts';
import type { AttemptResult } from '../sending/attempt-result.ts';
import type { WebhookInstance } from '../endpoints/webhook-instance.ts';
import { readDueEndpoints } from '../deliveries/delivery-outcomes.ts';
import { claimBatch, type ClaimedBatch, claimTurn, narrowTurn } from './claim-turn.ts';
import {
  type EndpointLane,
  followEndpoint,
  hasSendable,
  hasSlot,
  isReadable,
  newEndpointLane,
  toCandidate,
  waitOf,
} from './endpoint-lane.ts';
import { readLanesAhead } from './read-lanes.ts';
import { closedLane, type LaneChange } from '../deliveries/lane.ts';
import {
  type AlertState,
  type LaneAlerts,
  type LaneRow,
  noAlerts,
  readLanes,
} from '../deliveries/lane-store.ts';
import { type Candidate, type Slots, SlotTime, type Turn } from './slots.ts';

/** The time of a look, and what it depends on. */
export interface LookContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** When it differs from the last one, another node may have changed the lanes. */
  readonly epoch: string;
  readonly decisions: DecisionPort;
}

/** The events that wake lanes. */
export interface Wakes {
  readonly slots: Slots;
  readonly wakesAt: number | undefined;
}

/** A cursor is stored with the next settlement, at most this often. */
const cursorEveryMs = 1_000;
/** Cursors that are stored with one settlement; the others wait for the next. */
const cursorsTogetherMax = 64;

/** Why lanes are looked at: deliveries became due · events were committed · anything may have changed. Each includes those before it. */
export type Wake = 'due' | 'log' | 'all';

/**
 * The lanes of one instance, one for each active endpoint, with their claims. They are cached while the instance is not on loan. Most
 * lanes wait for a commit most of the time: a look visits only those that are awake, as there may be a thousand others.
 */
export class InstanceLanes {
  readonly id: string;
  /** While it is on loan. */
  #instance: WebhookInstance | undefined;
  /** By endpoint id. */
  readonly #lanes = new Map<string, EndpointLane>();
  /** Those without owner: a commit may have an event for each of them. */
  #unowned: readonly EndpointLane[] = [];
  /** Those that do not wait for a commit, or were not looked at since. */
  readonly #awake = new Set<EndpointLane>();
  /** Whether deliveries for lanes of accounts may be due that were not read. */
  #isOwnedUnknown = false;
  /** Whether the deliveries read ahead were dropped, and nothing has changed since. */
  #isPaused = false;
  #followed: { readonly all: readonly Endpoint[]; readonly epoch: string } | undefined;
  /** The epoch of ownership of the lanes: in another one, the stored lanes are read again. */
  #epoch: string | undefined;
  /** The slot time of the instance. */
  readonly #time = new SlotTime();
  readonly #replays = new ReplayRunner();
  readonly #decisions = new AccountDecisions();
  /** Running tests and settlements: they need the instance, and belong to no lane. */
  #uses = 0;

  constructor(id: string) {
    this.id = id;
  }

  get instance(): WebhookInstance {
    assert(this.#instance !== undefined, 'the instance is on loan');
    return this.#instance;
  }

  /** Begins a loan, or ends it (undefined). */
  lend(instance: WebhookInstance | undefined): void {
    this.#instance = instance;
  }

  /** Makes lanes read again that may have something due. */
  note(wake: Wake): void {
    // What was reported during a pause was dropped.
    if (wake !== 'due' || this.#isPaused) {
      this.#decisions.noteChange();
      this.#replays.note(wake === 'log' ? 'log' : 'all');
    }
    if (this.#isPaused) {
      this.#isPaused = false;
      for (const state of this.#lanes.values()) this.#wake(state);
      return;
    }
    if (wake === 'due') return;
    for (const state of this.#unowned) this.#wake(state);
    if (wake === 'log') return;
    this.#isOwnedUnknown = true;
    for (const state of this.#lanes.values()) this.#awake.add(state);
  }

  /** Makes the lanes of these endpoints read again, by their numbers. */
  noteDue(numbers: ReadonlySet<number>): void {
    for (const state of this.#lanes.values()) if (numbers.has(state.endpoint.number)) this.#wake(state);
  }

  #wake(state: EndpointLane): void {
    state.source.noteChange();
    this.#awake.add(state);
  }

  /** Stops sending and reading until something changes. Deliveries read ahead are dropped and read again then. */
  pause(): void {
    this.#isPaused = true;
    for (const { source } of this.#lanes.values()) source.drop();
  }

  /** Updates the lanes to the current endpoints, and reads due deliveries for lanes that have room and nothing read ahead. */
  async refill({ now, epoch, decisions }: LookContext): Promise<void> {
    const { endpoints, database } = this.instance;
    const all = await endpoints.all(database);
    await this.#follow(all, epoch);
    if (this.#isOwnedUnknown) {
      this.#isOwnedUnknown = false;
      if (this.#unowned.length < this.#lanes.size) this.noteDue(await readDueEndpoints(database, now));
    }
    for (const state of this.#awake) if ((state.source.nextDue ?? now + 1) <= now) state.source.noteChange();
    this.#decisions.advance(this.instance, {
      ...decisions,
      endpoints: all,
      epoch,
      onDecided: (numbers) => {
        this.noteDue(numbers);
        decisions.onStep();
      },
    });
    const { safeEnd } = decisions;
    const replaying = await this.#replays.advance(this.instance, { endpoints: all, safeEnd, now });
    if (replaying.size > 0) this.noteDue(replaying);
    const decidedFor = (number: number): number => this.#decisions.decidedFor(number);
    await readLanesAhead(database, this.#awake, { now, safeEnd, decidedFor });
  }

  all(): Iterable<EndpointLane> {
    return this.#lanes.values();
  }

  /** The candidates in the choice of turns at `now`. */
  candidate(now: number): Candidate {
    const lanes = [...this.#awake].filter((state) => hasSendable(state, now));
    return {
      instanceId: this.id,
      usedMs: this.#time.usedAt(now),
      lanes: lanes.map((state) => toCandidate(state, now)),
    };
  }

  /** True while the instance must stay open even if nothing changes: also while a lane has yet to be read. */
  isBusy(now: number): boolean {
    if (this.#uses > 0 || this.#decisions.isRunning) return true;
    return this.#awake
      .values()
      .some((state) => state.source.claimedCount > 0 || hasSendable(state, now) || isReadable(state, now));
  }

  /** Resolves when no decision for endpoints of accounts is running. */
  decided(): Promise<void> {
    return this.#decisions.settled();
  }

  /** Whether a lane has not read everything that it could send. */
  hasUnread(now: number): boolean {
    return this.#awake.values().some((state) => isReadable(state, now));
  }

  /**
   * Reads those deliveries that are still pending. A change of an endpoint applies to every request after its response,
   * but the lanes miss a change by another node or since they were filled. `endpointUpdated` of the rows shows it.
   */
  async readPendings(turns: readonly Turn[], now: number): Promise<readonly PendingDelivery[]> {
    const { database, endpoints } = this.instance;
    const policies = new Map<number, Endpoint>();
    const keys: DeliveryKey[] = [];
    for (const turn of turns) {
      const state = this.#lanes.get(turn.endpointId);
      if (state === undefined) continue;
      const { number } = state.endpoint;
      policies.set(number, state.endpoint);
      await narrowTurn(database, state, { turn, bytesMax: this.instance.bodyBytesMax });
      for (const event of turn.batch?.events ?? [turn.event]) keys.push({ event, endpoint: number });
    }
    const policyOf = (number: number): SendPolicy => policies.get(number) ?? sendAnyway;
    const pendings = await readPendings(database, { keys, policyOf, instance: this.instance, now });
    const areKnown = pendings.every(
      ({ endpointId, endpointUpdated }) => this.#lanes.get(endpointId)?.endpoint.updated === endpointUpdated,
    );
    if (!areKnown) await this.#follow(await endpoints.stored(database), this.#epoch ?? '');
    return pendings;
  }

  /** Counts an attempt as open and returns its endpoint; undefined if the delivery cannot be claimed now. */
  claim(turn: Turn, pending: PendingDelivery | undefined, now: number): Endpoint | undefined {
    const state = this.#lanes.get(turn.endpointId);
    const claimed = state && claimTurn(state, { turn, pending, now });
    if (claimed === 'send') this.#time.note(1, now);
    return claimed && state?.endpoint;
  }

  /** As {@link claim}, for a batch. */
  claimBatch(
    turn: Turn,
    batch: Omit<Parameters<typeof claimBatch>[1], 'turn'>,
  ): (ClaimedBatch & { readonly endpoint: Endpoint }) | undefined {
    const state = this.#lanes.get(turn.endpointId);
    if (state === undefined) return undefined;
    const claimed = claimBatch(state, { turn, ...batch });
    if (claimed === undefined) return undefined;
    if (claimed.members.length > 0) this.#time.note(1, batch.now);
    return { ...claimed, endpoint: state.endpoint };
  }

  /** Ends an attempt counted by {@link claim}. The delivery stays claimed until its settlement is committed. */
  endAttempt(
    endpointId: string,
    result: AttemptResult,
    context: { readonly now: number; readonly random: number },
  ): LaneChange | undefined {
    this.#time.note(-1, context.now);
    const state = this.#lanes.get(endpointId);
    state?.time.note(-1, context.now);
    const maxInFlight = state?.endpoint.maxInFlight ?? 1;
    return state?.lane.end(result.deliveryId, result, { ...context, maxInFlight });
  }

  /** Ends a claim, as its settlement is committed; an aborted first attempt has none and is repeated. */
  settled({ endpointId, key, state }: PendingDelivery, isAborted: boolean): void {
    const source = this.#lanes.get(endpointId)?.source;
    if (isAborted && state.due === undefined) source?.abort(key.event);
    else source?.release(key.event);
  }

  /** Blocks an endpoint with a strict order whose delivery is exhausted, until it is resumed. */
  block(endpointId: string, cause: string): void {
    this.#lanes.get(endpointId)?.lane.block(cause);
  }

  /** Notes that a test or a settlement has begun (1), or has ended (-1): the instance stays on loan for it. */
  noteUse(by: 1 | -1): void {
    this.#uses += by;
  }

  /** Whether an endpoint has a strict order. */
  get hasStrict(): boolean {
    return this.#lanes.values().some(({ endpoint }) => endpoint.order === 'strict');
  }

  /** Returns the lanes that have changed since they were stored. */
  changedLanes(now: number): readonly LaneRow[] {
    let cursors = 0;
    return [...this.#lanes.values()].flatMap((state) => {
      const { lane, stored, updated, source, endpoint } = state;
      if (updated === undefined) return [];
      const isStored = lane.stored === stored;
      const isCursorDue = Math.abs(now - state.cursorStoredAt) >= cursorEveryMs;
      const cursor = isStored && !isCursorDue ? state.storedCursor : source.low;
      if (isStored && (cursor <= state.storedCursor || cursors >= cursorsTogetherMax)) return [];
      if (isStored) cursors += 1;
      return [{ endpoint: endpoint.number, updated, lane: lane.stored, cursor }];
    });
  }

  /** Notes that changed lanes are stored. */
  noteStored(rows: readonly LaneRow[], now: number): void {
    const byEndpoint = new Map(rows.map((row) => [row.endpoint, row]));
    for (const state of this.#lanes.values()) {
      const row = byEndpoint.get(state.endpoint.number);
      if (row === undefined) continue;
      state.stored = row.lane;
      state.storedCursor = row.cursor;
      state.cursorStoredAt = now;
    }
  }

  /** Returns the state that decides about alerts of an endpoint; undefined before it was read. */
  alertState(endpointId: string): AlertState | undefined {
    const { updated, alerts, lane } = this.#lanes.get(endpointId) ?? {};
    if (updated === undefined || alerts === undefined || lane === undefined) return undefined;
    return { updated, alerts, lane: lane.stored };
  }

  /** Notes that an alert is stored. */
  noteAlerts(endpointId: string, alerts: LaneAlerts): void {
    const state = this.#lanes.get(endpointId);
    if (state !== undefined) state.alerts = alerts;
  }

  /** Ends a look: lanes that wait for a commit sleep until there is one. Returns when a lane may begin its next attempt, if not `now`. */
  endLook(now: number): number | undefined {
    const dues: (number | undefined)[] = [this.#replays.nextAt, this.#decisions.nextAt(now)];
    for (const state of this.#awake) {
      const wait = waitOf(state, now);
      if (wait.kind === 'time') dues.push(wait.at);
      const isQuiet = wait.kind === 'commit' || wait.kind === 'resume';
      if (isQuiet && state.source.claimedCount === 0) this.#awake.delete(state);
    }
    return dues.reduce(
      (first, due) => (first === undefined || (due ?? first) < first ? due : first),
      undefined,
    );
  }

  /**
   * Returns the endpoints whose lanes are stalled at a time between two looks: no coming event wakes them. `wakesAt` is
   * the time of the next look at the instance; undefined without one.
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
    if (this.#followed?.all === all && this.#followed.epoch === epoch) return;
    const endpoints = all.filter((endpoint) => endpoint.status === 'active');
    const active = new Set(endpoints.map((endpoint) => endpoint.id));
    for (const [id, state] of this.#lanes) if (!active.has(id)) this.#close(id, state);
    for (const endpoint of endpoints) this.#keep(endpoint);
    this.#unowned = [...this.#lanes.values()].filter(({ endpoint }) => endpoint.owner === '');
    await this.#restore(endpoints, epoch);
    this.#followed = { all, epoch };
  }

  /** Restores stored lanes that are new here, or whose endpoint or owner has changed. */
  async #restore(endpoints: readonly Endpoint[], epoch: string): Promise<void> {
    const isOurs = this.#epoch === epoch;
    const unknown = endpoints.filter(
      ({ id, updated }) => !isOurs || this.#lanes.get(id)?.updated !== updated,
    );
    if (unknown.length === 0) return;
    await this.#replays.reload(this.instance.database);
    const stored = await readLanes(this.instance.database);
    for (const { id, number, updated } of unknown) {
      const state = this.#lanes.get(id);
      if (state === undefined) continue;
      const { lane = closedLane, cursor = 0, alerts = noAlerts } = stored.get(number) ?? {};
      state.alerts = alerts;
      state.stored = lane;
      state.storedCursor = cursor;
      state.lane.restore(lane);
      state.source.restart(cursor);
      state.updated = updated;
      this.#awake.add(state);
    }
    this.#epoch = epoch;
  }

  /** Closes a lane, but keeps it while attempts are open: a new one after resuming could open more than `maxInFlight`. */
  #close(id: string, state: EndpointLane): void {
    state.source.drop();
    state.isActive = false;
    if (state.source.claimedCount > 0) return;
    this.#lanes.delete(id);
    this.#awake.delete(state);
  }

  #keep(endpoint: Endpoint): void {
    const state = this.#lanes.get(endpoint.id);
    if (state === undefined) this.#lanes.set(endpoint.id, newEndpointLane(endpoint, this.instance));
    else followEndpoint(state, endpoint);
  }
}
