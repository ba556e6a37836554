import type { Chains, State } from './chains.ts';
import type { Exchange, Operation } from './exchange.ts';

/** States that a batch has made and changed again, which nobody else can have met. */
export function insideBatches(chains: Chains, exchanges: readonly Exchange[]): ReadonlySet<State> {
  const places = placesByToken(exchanges);
  const inside = new Set<State>();
  for (const [key, chain] of chains)
    for (const [index, state] of chain.entries()) {
      const next = places.get(chain[index + 1]?.token ?? '');
      if (next === undefined) continue;
      const own = places.get(state.token ?? '');
      if (own?.batch === next.batch || isDeletedBefore(key, state, next)) inside.add(state);
    }
  return inside;
}

interface Place {
  readonly batch: Operation & { readonly kind: 'batch' };
  readonly index: number;
}

function placesByToken(exchanges: readonly Exchange[]): ReadonlyMap<string, Place> {
  const places = new Map<string, Place>();
  for (const { operation: batch } of exchanges)
    if (batch.kind === 'batch')
      for (const [index, { token }] of batch.intents.entries())
        if (token !== undefined) places.set(token, { batch, index });
  return places;
}

/** By the batch that then makes it anew: a delete of what is not there would have failed. */
function isDeletedBefore(key: string, { event }: State, { batch, index }: Place): boolean {
  if (event?.kind !== 'record.delete') return false;
  return batch.intents
    .slice(0, index)
    .some(({ kind, collection, id }) => kind === 'delete' && `${collection}/${id}` === key);
}
