import { isNextDelete } from './check-chains.ts';
import { type Chains, type State, type StoredEvent } from './chains.ts';
import { isDone, type Exchange, type Operation } from './exchange.ts';
import type { Report } from './evidence.ts';

/** Every delete that was acknowledged has an event of its own, and every other delete a reason: a truncation, or that of a post. */
export function checkDeletes(chains: Chains, exchanges: readonly Exchange[], report: Report): void {
  const truncations = exchanges.filter((each) => each.operation.kind === 'truncate' && isDone(each));
  const deletes = deletesByKey(exchanges);
  for (const [key, chain] of chains) {
    const events = chain.flatMap(({ event }) => (event?.kind === 'record.delete' ? [event] : []));
    const free = new Set(events);
    for (const { startedAt, endedAt } of (deletes.get(key) ?? []).toSorted(
      (one, other) => one.endedAt - other.endedAt,
    )) {
      const own = events.find(
        (event) => free.has(event) && event.at >= startedAt - 1 && event.at <= endedAt + 1,
      );
      if (own === undefined) report(`${key}: a delete that was acknowledged is not in the log`);
      else free.delete(own);
    }
    for (const event of free)
      if (!isTruncated(event, truncations) && !isCascaded(event, chains))
        report(`${key}: deleted by nobody at ${event.position}`);
  }
}

function deletesByKey(exchanges: readonly Exchange[]): ReadonlyMap<string, readonly Exchange[]> {
  const found = new Map<string, Exchange[]>();
  const done = new Set<Operation>();
  for (const exchange of exchanges) {
    const { operation } = exchange;
    if (operation.kind !== 'write' && operation.kind !== 'batch') continue;
    if (!isDone(exchange) || exchange.isReplayed || done.has(operation)) continue;
    done.add(operation);
    for (const { kind, collection, id } of operation.intents) {
      if (kind !== 'delete') continue;
      const key = `${collection}/${id}`;
      found.set(key, [...(found.get(key) ?? []), exchange]);
    }
  }
  return found;
}

/** One that was refused in the end has kept what it had deleted by then, of more records than there are here. */
function isTruncated({ collection, at }: StoredEvent, truncations: readonly Exchange[]): boolean {
  return truncations.some(
    ({ operation, startedAt, endedAt }) =>
      operation.kind === 'truncate' &&
      operation.collection === collection &&
      at >= startedAt - 1 &&
      at <= endedAt + 1,
  );
}

function isCascaded(event: StoredEvent, chains: Chains): boolean {
  const post: readonly State[] | undefined = chains.get(`posts/${String(event.values['post'])}`);
  return event.collection === 'comments' && isNextDelete(post, event);
}
