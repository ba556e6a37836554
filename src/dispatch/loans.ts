import { GenerationCache } from '../base/cache.ts';
import type { Clock } from '../base/clock.ts';
import { Busy } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { PendingDelivery } from '../deliveries/deliveries.ts';
import type { Ownership } from '../deliveries/delivery.ts';
import type { WebhookInstanceLoan } from '../endpoints/webhook-instance.ts';
import { InstanceLanes, type Wake } from './lanes.ts';
import type { Scheduler } from './scheduler.ts';
import type { Turn } from './slots.ts';

/** The retry delay of an instance that could not be opened because there was no room. */
const roomRetryMs = 100;
/** The retry delay of one that could not be opened for another reason. */
const failedRetryMs = 60_000;
/** Instances whose lanes are cached while they are not on loan. */
const cachedMax = 10_000;
/** The share of loans for instances whose endpoints all fail: these keep it until their attempts time out. */
const failingShare = 3 / 4;

interface Opening {
  readonly ownership: Pick<Ownership, 'owns'>;
  /** Throws Busy where the instance can only be opened later. */
  readonly borrowAtOnce: (instanceId: string) => Promise<WebhookInstanceLoan | undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The instances that the dispatcher has borrowed, each with its lanes. */
export class Loans {
  readonly #loans = new Map<string, { readonly lanes: InstanceLanes; readonly loan: WebhookInstanceLoan }>();
  readonly #cached = new GenerationCache<string, InstanceLanes>(cachedMax);
  readonly #loansMax: number;

  constructor(loansMax = Number.POSITIVE_INFINITY) {
    this.#loansMax = loansMax;
  }

  /** Whether another instance may be borrowed. */
  hasRoom(instanceId: string, now: number): boolean {
    if (this.#loans.size >= this.#loansMax) return false;
    const failingMax = Math.max(1, Math.floor(this.#loansMax * failingShare));
    if (this.#loans.size < failingMax || !this.#isFailing(instanceId, now)) return true;
    return [...this.#loans.keys()].filter((id) => this.#isFailing(id, now)).length < failingMax;
  }

  /** Whether lanes of the instance are cached, and none has delivered lately. */
  #isFailing(instanceId: string, now: number): boolean {
    const all = [...(this.#cached.find(instanceId)?.all() ?? [])];
    return all.some(({ lane }) => lane.hasFailed) && all.every(({ lane }) => !lane.isProven(now));
  }

  /** Opens an instance to deliver its webhooks. Returns undefined where that fails; `scheduler` retries it later. */
  async open(
    [id, wake]: readonly [id: string, wake: Wake],
    scheduler: Scheduler,
    { ownership, borrowAtOnce, clock, logger }: Opening,
  ): Promise<InstanceLanes | undefined> {
    if (!ownership.owns(id)) return undefined;
    try {
      const loan = await borrowAtOnce(id);
      return loan === undefined ? undefined : this.add(loan);
    } catch (error) {
      const isRoomTaken = error instanceof Busy;
      if (!isRoomTaken)
        logger.error('An instance could not be opened to deliver its webhooks.', { instance: id, error });
      scheduler.postpone(id, clock.now() + (isRoomTaken ? roomRetryMs : failedRetryMs), wake);
      return undefined;
    }
  }

  /** Adds a loan and returns its lanes. An instance that is on loan already keeps its lanes, and the second loan is released. */
  add(loan: WebhookInstanceLoan): InstanceLanes {
    const current = this.#loans.get(loan.instance.id);
    if (current !== undefined) {
      if (current.loan !== loan) loan.release();
      return current.lanes;
    }
    const lanes = this.#cached.findOrAdd(loan.instance.id, (id) => new InstanceLanes(id));
    lanes.lend(loan.instance);
    this.#loans.set(loan.instance.id, { lanes, loan });
    return lanes;
  }

  release(instanceId: string): void {
    const lent = this.#loans.get(instanceId);
    this.#loans.delete(instanceId);
    lent?.lanes.lend(undefined);
    lent?.loan.release();
  }

  releaseAll(): void {
    for (const { loan } of this.#loans.values()) loan.release();
  }

  lanesOf(instanceId: string): InstanceLanes | undefined {
    return this.#loans.get(instanceId)?.lanes;
  }

  /** The cached lanes, by instance. */
  cachedLanes(): ReadonlyMap<string, InstanceLanes> {
    return this.#cached.entries();
  }

  /** A live view: it follows what is added and released during the iteration. */
  allLanes(): IteratorObject<InstanceLanes> {
    return this.#loans.values().map(({ lanes }) => lanes);
  }
}

/** A delivery whose turn it is; only its position in the log was read so far. */
export interface LaneTurn {
  readonly lanes: InstanceLanes;
  readonly turn: Turn;
}

/** Instances read in parallel where the database is a round trip away; requests share the same connections. */
const instancesTogetherMax = 16;

/** Reads the deliveries of turns, together for each instance. An instance whose read fails is left out. */
export async function readTurns(
  { laneTurns, now }: { readonly laneTurns: readonly LaneTurn[]; readonly now: number },
  orPause: (
    lanes: InstanceLanes,
    read: () => Promise<readonly PendingDelivery[]>,
  ) => Promise<readonly PendingDelivery[] | undefined>,
): Promise<ReadonlyMap<Turn, readonly PendingDelivery[]>> {
  const byInstance = [...Map.groupBy(laneTurns, ({ lanes }) => lanes)];
  const byTurn = new Map<Turn, readonly PendingDelivery[]>();
  for (let from = 0; from < byInstance.length; from += instancesTogetherMax) {
    const reads = byInstance.slice(from, from + instancesTogetherMax).map(async ([lanes, own]) => {
      const turns = own.map(({ turn }) => turn);
      const pendings = (await orPause(lanes, () => lanes.readPendings(turns, now))) ?? [];
      const byPlace = new Map(pendings.map((one) => [placeOf(one.endpointId, one.key.event), one]));
      for (const turn of turns) {
        const events = turn.batch?.events ?? [turn.event];
        byTurn.set(
          turn,
          events.flatMap((event) => byPlace.get(placeOf(turn.endpointId, event)) ?? []),
        );
      }
    });
    await Promise.all(reads);
  }
  return byTurn;
}

function placeOf(endpointId: string, event: number): string {
  return `${endpointId} ${event}`;
}

/** Of an instance that is not active nothing is claimed. What is on its way is settled as ever. */
export function whileActive(ownership: Ownership, isActive: (instanceId: string) => boolean): Ownership {
  return {
    owns: (id) => isActive(id) && ownership.owns(id),
    epochOf: (id) => ownership.epochOf(id),
    fence: (id) => ownership.fence(id),
  };
}
