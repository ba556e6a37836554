import type { Chains } from './chains.ts';
import type { Exchange, Operation } from './exchange.ts';
import type { Report } from './evidence.ts';
import type { Observation } from './observations.ts';

/** The first and the last state that a batch made of a record. */
type Made = readonly [number, number];

/** A list shows all that a batch has done to its collection, or nothing of it. */
export function checkBatches(observations: readonly Observation[], chains: Chains, report: Report): void {
  const batches = madeByBatch(
    observations.map(({ exchange }) => exchange),
    chains,
  );
  const ofLists = Map.groupBy(
    observations.filter(
      ({ exchange, candidates }) => exchange.operation.kind === 'list' && candidates.length === 1,
    ),
    ({ exchange }) => exchange,
  );
  for (const [exchange, shown] of ofLists) {
    const indexes = new Map(shown.map(({ key, candidates }) => [key, candidates[0] ?? 0]));
    for (const [batch, made] of batches) {
      const parts = [...made].flatMap(([key, each]) => {
        const index = indexes.get(key);
        return index === undefined ? [] : [partOf(index, each)];
      });
      if (new Set(parts).size > 1 || parts.includes('half'))
        report(`a list on node ${exchange.node} shows ${parts.join(', ')} of ${JSON.stringify(batch)}`);
    }
  }
}

function partOf(index: number, [first, last]: Made): 'all' | 'half' | 'nothing' {
  return index >= last ? 'all' : index >= first ? 'half' : 'nothing';
}

function madeByBatch(
  exchanges: readonly Exchange[],
  chains: Chains,
): ReadonlyMap<Operation, ReadonlyMap<string, Made>> {
  const byToken = new Map<string, Operation>();
  for (const { operation } of exchanges)
    if (operation.kind === 'batch')
      for (const { token } of operation.intents) if (token !== undefined) byToken.set(token, operation);
  const batches = new Map<Operation, Map<string, Made>>();
  for (const [key, chain] of chains)
    for (const { token, index } of chain) {
      const batch = token === undefined ? undefined : byToken.get(token);
      if (batch === undefined) continue;
      const made = batches.get(batch) ?? new Map<string, Made>();
      batches.set(batch, made);
      made.set(key, [made.get(key)?.[0] ?? index, index]);
    }
  return batches;
}
