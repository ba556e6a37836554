import type { Loan } from '../instances/open-instances.ts';
import type { Contender, Turn } from './choose-turns.ts';
import { InstanceLanes } from './instance-lanes.ts';
import type { Taken } from './read-taken.ts';
import { rotated } from './rotated.ts';

/** The instances that the dispatcher has borrowed, each with its lanes, and the order in which they take turns. */
export class Loans {
  readonly #loans = new Map<string, { readonly lanes: InstanceLanes; readonly loan: Loan }>();
  #round = 0;

  /** Adds a loan and returns its lanes. An instance that is on loan already keeps its lanes, and the second loan is released. */
  add(loan: Loan): InstanceLanes {
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
  contenders(): readonly Contender[] {
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
