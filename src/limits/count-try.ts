import type { SharedCounter, SharedLimit } from './shared-counter.ts';
import type { Window } from './window-counter.ts';

/** One of the counters that a try counts in, with its key and limit. */
export interface Count {
  readonly counter: SharedCounter;
  readonly key: string;
  readonly limit: SharedLimit;
}

export type CountedTry =
  /** `giveBack` takes the try back when it turns out not to count. */
  | { readonly kind: 'counted'; readonly giveBack: () => void }
  /** No try is accepted until `endMs` at least. */
  | { readonly kind: 'full'; readonly endMs: number };

/**
 * Counts a try before its outcome is known: otherwise concurrent tries could all pass before one of them is counted. `counts` must
 * begin with the one that most clients share: where other nodes have to be asked, a try that it refuses leaves no trace in the rest.
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
    // Awaited only if it must be: with no other nodes, all counts are taken in the same turn of the loop as the look above.
    const { isAllowed, endMs } = asked instanceof Promise ? await asked : asked;
    if (!isAllowed) {
      giveBack();
      return { kind: 'full', endMs };
    }
    taken.push(() => counter.giveBack(key, endMs, limit.store));
  }
  return { kind: 'counted', giveBack };
}
