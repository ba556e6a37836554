import { GenerationMap } from '../base/generation-map.ts';
import { withValues, type Sql } from '../sql/sql.ts';

/**
 * What was put together of statements of one text, in one way: their values are others each time. By the text, and then by the way; one
 * key of both would be a new text each time.
 */
export class CombinedStatements {
  readonly #known: GenerationMap<string, Map<string | number, Sql>>;

  constructor(textsMax: number) {
    this.#known = new GenerationMap(textsMax);
  }

  /** Without values. */
  recall(text: string, way: string | number, make: () => Sql): Sql {
    const ways = this.#known.findOrAdd(text, () => new Map<string | number, Sql>());
    let combined = ways.get(way);
    if (combined === undefined) ways.set(way, (combined = withValues(make(), [])));
    return combined;
  }
}
