/**
 * The limit on open attempts, over all instances, and its shares. Slots are earned: an endpoint that has not
 * answered lately gets few, and all such endpoints together a quarter. No instance gets more than an eighth. So whatever the endpoints
 * of up to five instances do at one moment, an endpoint elsewhere that answers never waits for a slot: 5/8 and 1/4 leave an eighth.
 *
 * A lane that stops answering keeps the slots that it has until its attempts end, and gets no others.
 */
export class Slots {
  readonly max: number;
  #taken = 0;
  #unproven = 0;
  #retries = 0;
  readonly #ofInstance = new Tally();
  readonly #unprovenOfInstance = new Tally();
  readonly #ofOrigin = new Tally();
  /** Slots whose attempt has ended and whose result is not stored yet. */
  readonly #ended = new Set<DeliverySlot>();

  constructor(max: number = slotsMaxDefault) {
    this.max = max;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Returns how many of these slots are free. They are not all free together with those of others. */
  roomFor(
    slot: Omit<DeliverySlot, 'isRetry'> & { readonly inFlight: number; readonly hasFailed: boolean },
  ): number {
    const { instanceId, origin, isProven, inFlight, hasFailed } = slot;
    const room = Math.min(
      this.max - this.#taken,
      part(this.max, instanceShare) - this.#ofInstance.of(instanceId),
      originMax - this.#ofOrigin.of(origin),
    );
    if (isProven) return room;
    const unprovenMax = part(this.max, unprovenShare);
    const laneMax = hasFailed || this.#unproven * 2 > unprovenMax ? 1 : 2;
    return Math.min(
      room,
      laneMax - inFlight,
      unprovenMax - this.#unproven,
      part(this.max, unprovenOfInstanceShare) - this.#unprovenOfInstance.of(instanceId),
    );
  }

  /** Whether a retry may take a slot: the rest is for first attempts. */
  get hasRoomForRetry(): boolean {
    return this.#retries < part(this.max, retryShare);
  }

  take(slot: DeliverySlot): void {
    this.#ofOrigin.add(slot.origin, 1);
    this.#count(slot, 1);
  }

  /** Notes that the attempt has ended: its origin may get the next one while the result is stored. */
  endAttempt(slot: DeliverySlot): void {
    if (this.#ended.has(slot)) return;
    this.#ended.add(slot);
    this.#ofOrigin.add(slot.origin, -1);
  }

  release(slot: DeliverySlot): void {
    this.endAttempt(slot);
    this.#ended.delete(slot);
    this.#count(slot, -1);
  }

  #count({ instanceId, isProven, isRetry }: DeliverySlot, by: 1 | -1): void {
    this.#taken += by;
    this.#ofInstance.add(instanceId, by);
    if (isRetry) this.#retries += by;
    if (isProven) return;
    this.#unproven += by;
    this.#unprovenOfInstance.add(instanceId, by);
  }
}

/** The shares that a slot counts for. */
export interface DeliverySlot {
  readonly instanceId: string;
  /** Scheme, host and port: over all instances, it gets no more than 64. */
  readonly origin: string;
  /** Whether the endpoint had proven itself. */
  readonly isProven: boolean;
  /** Whether the delivery was attempted before. */
  readonly isRetry: boolean;
}

const slotsMaxDefault = 2_048;

const instanceShare = 1 / 8;
const unprovenShare = 1 / 4;
const unprovenOfInstanceShare = 1 / 16;
const retryShare = 1 / 4;
const originMax = 64;

function part(max: number, share: number): number {
  return Math.max(1, Math.floor(max * share));
}

/** Counts by name; names with 0 are removed. */
class Tally {
  readonly #counts = new Map<string, number>();

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, by: number): void {
    const count = this.of(name) + by;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }
}

/** The recent slot time of an instance or a lane, which decides about turns: in slot-milliseconds, halved every ten seconds. */
export class SlotTime {
  #usedMs = 0;
  #at = 0;
  #open = 0;

  /** Returns the time used until `now`, that of open attempts included. */
  usedAt(now: number): number {
    const passedMs = Math.max(0, now - this.#at);
    return this.#usedMs * 0.5 ** (passedMs / halfLifeMs) + this.#open * passedMs;
  }

  /** Notes that a slot is taken (1) or released (-1). */
  note(by: 1 | -1, now: number): void {
    this.#usedMs = this.usedAt(now);
    this.#at = Math.max(this.#at, now);
    this.#open += by;
  }
}

const halfLifeMs = 10_000;

/** An instance's endpoints that have deliveries due. */
export interface Candidate {
  readonly instanceId: string;
  readonly usedMs: number;
  readonly lanes: readonly LaneCandidate[];
}

export interface LaneCandidate {
  readonly endpointId: string;
  readonly origin: string;
  readonly usedMs: number;
  /** How many attempts the lane may begin. */
  readonly room: number;
  readonly isProven: boolean;
  readonly hasFailed: boolean;
  readonly inFlight: number;
  /** Removes and returns the delivery that has been due for longest; without `mayRetry`, of those that were never attempted. */
  readonly take: (mayRetry: boolean) => DueDelivery | undefined;
}

export interface DueDelivery {
  /** The position of its event. */
  readonly event: number;
  readonly isRetry: boolean;
  /** Set where deliveries are sent together; `event` is the first of them. */
  readonly batch?: DueBatch;
}

/** Deliveries that one request sends. */
export interface DueBatch {
  /** The id of the batch if it was sent before; empty for a new one. */
  readonly id: string;
  /** Before they are read: those that were found due. Then all members of the batch, or as many as one request may have. */
  events: readonly number[];
}

/** A delivery whose turn it is, with its slot. */
export interface Turn extends DeliverySlot, DueDelivery {
  readonly endpointId: string;
}

/** The assumed cost of an attempt before it ends, in slot-milliseconds: those that used the same take turns. */
const turnMs = 10;

/**
 * Allocates free slots: each to the instance with the least slot time, and there to the lane with the
 * least. The caller releases those that it does not use.
 */
export function chooseTurns(candidates: readonly Candidate[], slots: Slots): readonly Turn[] {
  const turns: Turn[] = [];
  const waiting = new LeastFirst(candidates.map((candidate) => new Contender(candidate)));
  for (let next = waiting.first; next !== undefined && slots.taken < slots.max; next = waiting.first) {
    const turn = next.turn(slots);
    if (turn === undefined) waiting.removeFirst();
    else {
      turns.push(turn);
      waiting.moveFirst();
    }
  }
  return turns;
}

/** Items by their slot time. */
class LeastFirst<Item extends { usedMs: number }> {
  readonly #items: Item[];

  constructor(items: readonly Item[]) {
    this.#items = items.toSorted((a, b) => a.usedMs - b.usedMs);
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  removeFirst(): Item | undefined {
    return this.#items.shift();
  }

  /** Charges the first one for a turn, and moves it behind all with no more slot time. */
  moveFirst(): void {
    const item = this.removeFirst();
    if (item === undefined) return;
    item.usedMs += turnMs;
    let [low, high] = [0, this.#items.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#items[middle]?.usedMs ?? 0) <= item.usedMs) low = middle + 1;
      else high = middle;
    }
    this.#items.splice(low, 0, item);
  }
}

/** An instance while it takes turns. */
class Contender {
  usedMs: number;
  readonly #instanceId: string;
  readonly #lanes: LeastFirst<LaneCandidate & { usedMs: number; begun: number }>;

  constructor({ instanceId, usedMs, lanes }: Candidate) {
    this.usedMs = usedMs;
    this.#instanceId = instanceId;
    this.#lanes = new LeastFirst(lanes.map((lane) => ({ ...lane, begun: 0 })));
  }

  /** Takes a slot for a delivery of the next lane that may have one; undefined when none may. */
  turn(slots: Slots): Turn | undefined {
    for (let lane = this.#lanes.first; lane !== undefined; lane = this.#lanes.first) {
      const { endpointId, origin, isProven, hasFailed, begun } = lane;
      const slot = { instanceId: this.#instanceId, origin, isProven };
      const room = slots.roomFor({ ...slot, inFlight: lane.inFlight + begun, hasFailed });
      const due = begun < lane.room && room > 0 ? lane.take(slots.hasRoomForRetry) : undefined;
      if (due === undefined) {
        this.#lanes.removeFirst();
        continue;
      }
      const turn = { ...slot, ...due, endpointId };
      slots.take(turn);
      lane.begun += 1;
      this.#lanes.moveFirst();
      return turn;
    }
    return undefined;
  }
}
