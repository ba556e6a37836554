import { systemClock } from '../../base/clock.ts';
import { GenerationMap } from '../../base/generation-map.ts';
import type { Access } from '../database.ts';

/** After a change of the indexes the old answer is given for this much longer. */
const KEPT_MS = 10_000;

/** What was found out about statements, by their texts: where asking costs a round trip, not every list should take one more. */
export class AccessMemory {
  readonly #known = new GenerationMap<string, { readonly access: Access; readonly until: number }>(500);

  async find(text: string, ask: () => Promise<Access>): Promise<Access> {
    const now = systemClock.monotonic();
    const known = this.#known.find(text);
    if (known !== undefined && known.until > now) return known.access;
    const access = await ask();
    this.#known.add(text, { access, until: now + KEPT_MS });
    return access;
  }
}
