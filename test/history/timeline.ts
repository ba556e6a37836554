import { Bounds } from './bounds.ts';
import type { State } from './chains.ts';
import type { Exchange } from './exchange.ts';
import { observe, type Observation, type Scene } from './observations.ts';

/** What all answers together tell of when each record was in which state. */
export class Timeline {
  readonly observations: readonly Observation[];
  readonly #scene: Scene;
  readonly #bounds = new Map<string, Bounds>();

  constructor(exchanges: readonly Exchange[], scene: Scene) {
    this.#scene = scene;
    this.observations = exchanges.flatMap((exchange) => observe(exchange, scene));
    const byKey = Map.groupBy(this.observations, ({ key }) => key);
    for (const [key, chain] of scene.chains) {
      const seen = (byKey.get(key) ?? []).flatMap(({ candidates, isWrite, exchange }) => {
        const [index, ...others] = candidates;
        if (index === undefined || others.length > 0) return [];
        return [{ index, isWrite, startMs: exchange.startMs, endMs: exchange.endMs }];
      });
      this.#bounds.set(key, new Bounds(seen, chain.length - 1));
    }
  }

  /** The states that a record can have been in while a request of somebody else was under way. */
  during(key: string, { startMs, endMs }: Pick<Exchange, 'startMs' | 'endMs'>): readonly State[] {
    const [first, last] = this.range(key, { startMs, endMs });
    const { chains, inside } = this.#scene;
    return (chains.get(key) ?? []).slice(first, last + 1).filter((state) => !inside.has(state));
  }

  range(key: string, { startMs, endMs }: Pick<Exchange, 'startMs' | 'endMs'>): readonly [number, number] {
    return this.#bounds.get(key)?.range(startMs, endMs) ?? [0, 0];
  }
}
