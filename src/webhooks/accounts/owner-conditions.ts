import { GenerationCache } from '../../base/cache.ts';
import type { Collection } from '../../collections/collection.ts';
import type { Sql } from '../../sql/sql.ts';
import { type ConditionContext, conditionOf } from '../endpoints/endpoint-conditions.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';

/** Conditions of an instance that are kept, about 2 KiB each. */
const conditionsMax = 2_000;

/** Names that stand for the time: a condition with one of them is another one at each moment. */
const macro = /@(?!request\.|collection\.)/;
/** A filter that leads to other records: what of them it may see is decided by their rules. */
const leadsOn = /[.@]|_via_/;

interface Known {
  readonly endpoint: Endpoint;
  readonly condition: Sql | undefined;
}

/**
 * The conditions on which endpoints of accounts are told of changes, as they were compiled for the event before: for a thousand endpoints that would
 * take longer than all else. They follow from the endpoint, which is another object when it has changed, and from the definitions of the instance.
 */
export class OwnerConditions {
  readonly #known = new GenerationCache<string, Known>(conditionsMax);
  #definitions: readonly Collection[] = [];

  /** Returns the condition, or undefined where the endpoint is told of no change of the collection. */
  find(endpoint: Endpoint, collection: Collection, context: ConditionContext): Sql | undefined {
    if (macro.test(collection.rules.viewRule ?? '') || leadsOn.test(endpoint.filter))
      return conditionOf(endpoint, collection, context);
    const key = `${endpoint.number} ${collection.id}`;
    const known = this.#known.find(key);
    if (known?.endpoint === endpoint) return known.condition;
    const condition = conditionOf(endpoint, collection, context);
    this.#known.add(key, { endpoint, condition });
    return condition;
  }

  /** Forgets all conditions when the definitions are others than before. To be called before conditions are looked for. */
  follow(definitions: readonly Collection[]): void {
    const areSame =
      definitions.length === this.#definitions.length &&
      definitions.every((one, index) => one === this.#definitions[index]);
    if (areSame) return;
    this.#definitions = definitions;
    this.#known.clear();
  }
}
