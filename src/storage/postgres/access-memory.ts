import { systemClock } from '../../base/clock.ts';
import { GenerationMap } from '../../base/generation-map.ts';
import type { Access } from '../database.ts';

/** How long an answer is kept, and may be outdated after the indexes have changed. */
const KEPT_MS = 10_000;

/** A cache of accesses by SQL text: finding one out costs a round trip, which not every list should take. */
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
