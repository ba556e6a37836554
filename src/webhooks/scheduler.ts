import type { Clock } from '../base/clock.ts';
import type { PendingDelivery } from './deliveries.ts';
import { InstanceLanes } from './lanes.ts';
import type { WebhookInstanceLoan } from './webhook-instance.ts';

/** Tells which instances the dispatcher should look at, and when: woken ones at once, others when a delivery of theirs is due. */
export class Scheduler {
  readonly #clock: Clock;
  readonly #woken = new Set<string>();
  /** When an instance's next delivery is due, in milliseconds since 1970. */
  readonly #nextDue = new Map<string, number>();
  /** Until when an instance that could not be read is left alone, by the monotonic clock. */
  readonly #restUntilMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get hasWoken(): boolean {
    return this.#woken.size > 0;
  }

  isWoken(instanceId: string): boolean {
    return this.#woken.has(instanceId);
  }

  wake(instanceId: string): void {
    this.#woken.add(instanceId);
  }

  /** Returns and forgets the instances to look at now. A caller that skips one must wake it again. */
  takeWoken(): readonly string[] {
    const now = this.#clock.now();
    for (const [id, due] of this.#nextDue) if (due <= now) this.#woken.add(id);
    const woken = [...this.#woken];
    this.#woken.clear();
    return woken;
  }

  nextDue(instanceId: string): number | undefined {
    return this.#nextDue.get(instanceId);
  }

  setDue(instanceId: string, due: number): void {
    this.#nextDue.set(instanceId, due);
  }

  /** Returns whether `due` is earlier than what was known, and remembers it if so. */
  noteDue(instanceId: string, due: number): boolean {
    if (due >= (this.#nextDue.get(instanceId) ?? Number.POSITIVE_INFINITY)) return false;
    this.#nextDue.set(instanceId, due);
    return true;
  }

  clearDue(instanceId: string): void {
    this.#nextDue.delete(instanceId);
  }

  /** Milliseconds until the first instance is due; undefined when none will be. */
  delayMs(): number | undefined {
    if (this.#nextDue.size === 0) return undefined;
    return Math.min(...this.#nextDue.values()) - this.#clock.now();
  }

  /** Leaves an instance alone for `delayMs`, unless it is woken. */
  rest(instanceId: string, delayMs: number): void {
    this.#nextDue.set(instanceId, this.#clock.now() + delayMs);
    this.#restUntilMs.set(instanceId, this.#clock.monotonic() + delayMs);
  }

  isResting(instanceId: string): boolean {
    if ((this.#restUntilMs.get(instanceId) ?? 0) > this.#clock.monotonic()) return true;
    this.#restUntilMs.delete(instanceId);
    return false;
  }
}

/** The instances that the dispatcher has borrowed, each with its lanes, and the order in which they take turns. */
export class Claims {
  readonly #loans = new Map<string, { readonly lanes: InstanceLanes; readonly loan: WebhookInstanceLoan }>();
  #round = 0;

  /** Adds a loan and returns its lanes. An instance that is on loan already keeps its lanes, and the second loan is released. */
  add(loan: WebhookInstanceLoan): InstanceLanes {
    const known = this.#loans.get(loan.instance.id);
    if (known !== undefined) {
      if (known.loan !== loan) loan.release();
      return known.lanes;
    }
    const lanes = new InstanceLanes(loan.instance);
    this.#loans.set(loan.instance.id, { lanes, loan });
    return lanes;
  }

  release(instanceId: string): void {
    this.#loans.get(instanceId)?.loan.release();
    this.#loans.delete(instanceId);
  }

  releaseAll(): void {
    for (const { loan } of this.#loans.values()) loan.release();
  }

  lanesOf(instanceId: string): InstanceLanes | undefined {
    return this.#loans.get(instanceId)?.lanes;
  }

  /** A live view: it follows what is added and released during the iteration. */
  allLanes(): IteratorObject<InstanceLanes> {
    return this.#loans.values().map(({ lanes }) => lanes);
  }

  /**
   * Returns the instances that compete for turns, each time beginning with another one, and with another endpoint once every
   * instance was first: otherwise the first ones would win whenever there is less room than demand.
   */
  contenders(): readonly Candidate[] {
    const lanesRound = Math.floor(this.#round / Math.max(1, this.#loans.size));
    const all = [...this.#loans].map(([instanceId, { lanes }]) => ({
      instanceId,
      lanes: rotated(lanes.sendable(), lanesRound),
    }));
    this.#round += 1;
    return rotated(all, this.#round);
  }

  take({ instanceId, endpointId }: Turn): Taken | undefined {
    const lanes = this.lanesOf(instanceId);
    const id = lanes?.take(endpointId);
    return lanes === undefined || id === undefined ? undefined : { lanes, endpointId, id };
  }
}

/** An instance's endpoints that have deliveries due, each with how many it may be sent now. */
export interface Candidate {
  readonly instanceId: string;
  readonly lanes: readonly { readonly endpointId: string; readonly sendable: number }[];
}

export interface Turn {
  readonly instanceId: string;
  readonly endpointId: string;
}

/**
 * Returns whose turn it is: in each round one delivery for each instance, whose endpoints take turns among themselves, until
 * `capacity` is used up or nothing is left. A noisy instance gets the same share of each round as a quiet one.
 */
export function chooseTurns(contenders: readonly Candidate[], capacity: number): readonly Turn[] {
  const turns: Turn[] = [];
  let rounds = contenders.map((contender) => ({
    instanceId: contender.instanceId,
    lanes: contender.lanes.filter((lane) => lane.sendable > 0).map((lane) => ({ ...lane })),
    next: 0,
  }));
  while (turns.length < capacity) {
    rounds = rounds.filter((round) => round.lanes.length > 0);
    if (rounds.length === 0) break;
    for (const round of rounds.slice(0, capacity - turns.length)) {
      const lane = round.lanes[round.next % round.lanes.length];
      if (lane === undefined) continue;
      turns.push({ instanceId: round.instanceId, endpointId: lane.endpointId });
      lane.sendable -= 1;
      if (lane.sendable > 0) round.next += 1;
      else round.lanes.splice(round.next % round.lanes.length, 1);
    }
  }
  return turns;
}

/** Returns the same items in the same circular order, beginning with the one at index `by`. */
function rotated<Item>(items: readonly Item[], by: number): readonly Item[] {
  const at = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}

/** A delivery whose turn it is; only its id was read so far. */
export interface Taken {
  readonly lanes: InstanceLanes;
  readonly endpointId: string;
  readonly id: string;
}

/** Instances read in parallel where the database is a round trip away; requests share the same connections. */
const instancesTogetherMax = 16;

/** Returns the rows of a whole turn by id, read with one statement per instance. An instance whose read fails is left out. */
export async function readTaken(
  taken: readonly Taken[],
  orRest: (
    lanes: InstanceLanes,
    read: () => Promise<readonly PendingDelivery[]>,
  ) => Promise<readonly PendingDelivery[] | undefined>,
): Promise<ReadonlyMap<string, PendingDelivery>> {
  const byInstance = [...Map.groupBy(taken, ({ lanes }) => lanes)];
  const found = new Map<string, PendingDelivery>();
  for (let from = 0; from < byInstance.length; from += instancesTogetherMax) {
    const reads = byInstance.slice(from, from + instancesTogetherMax).map(([lanes, own]) => {
      const ids = own.map(({ id }) => id);
      return orRest(lanes, () => lanes.readPendings(ids));
    });
    for (const pendings of await Promise.all(reads))
      for (const pending of pendings ?? []) found.set(pending.id, pending);
  }
  return found;
}
