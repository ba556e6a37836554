import { GenerationMap } from '../base/generation-map.ts';
import { withValues, type Sql } from '../sql/sql.ts';

/**
 * A cache of statements that were combined from several with the same SQL text, by that text and by the way they were combined. Two
 * levels, because one key made of both would have to be concatenated for each lookup.
 */
export class CombinedStatements {
  readonly #known: GenerationMap<string, Map<string | number, Sql>>;

  constructor(textsMax: number) {
    this.#known = new GenerationMap(textsMax);
  }

  /** Returns the combined statement without values: those differ each time. */
  recall(text: string, way: string | number, make: () => Sql): Sql {
    const ways = this.#known.findOrAdd(text, () => new Map<string | number, Sql>());
    let combined = ways.get(way);
    if (combined === undefined) ways.set(way, (combined = withValues(make(), [])));
    return combined;
  }
}
