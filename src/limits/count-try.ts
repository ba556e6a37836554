import type { SharedCounter, SharedLimit } from './shared-counter.ts';
import type { Window } from './window-counter.ts';

/** One of the counts that a try comes under. */
export interface Count {
  readonly counter: SharedCounter;
  readonly key: string;
  readonly limit: SharedLimit;
}

export type CountedTry =
  /** `giveBack` when it turns out to be none that counts. */
  | { readonly kind: 'counted'; readonly giveBack: () => void }
  /** Until then at least. */
  | { readonly kind: 'full'; readonly endMs: number };

/**
 * Counts a try before it is known how it ends: those that are made at once would otherwise all be one too many. The count that many
 * others share comes first: where other nodes have to be asked, whoever is refused by it leaves no trace in the rest.
 */
export async function countTry(counts: readonly Count[]): Promise<CountedTry> {
  const full = counts
    .map(({ counter, key, limit }) => counter.look(key, limit))
    .filter((window) => window?.isAllowed === false);
  if (full.length > 0) return { kind: 'full', endMs: Math.max(...full.map((window) => window?.endMs ?? 0)) };
  const taken: (() => void)[] = [];
  const giveBack = (): void => {
    for (const one of taken) one();
  };
  for (const { counter, key, limit } of counts) {
    const asked: Window | Promise<Window> = counter.take(key, limit);
    // Where nobody has to be asked all of them are taken in the turn in which they were looked at.
    const { isAllowed, endMs } = asked instanceof Promise ? await asked : asked;
    if (!isAllowed) {
      giveBack();
      return { kind: 'full', endMs };
    }
    taken.push(() => counter.giveBack(key, endMs, limit.store));
  }
  return { kind: 'counted', giveBack };
}
