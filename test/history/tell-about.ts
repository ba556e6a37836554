import { keyOf, type Chains } from './chains.ts';
import type { Exchange } from './exchange.ts';
import { referredBy } from './referred-by.ts';

interface Told {
  readonly chains: Chains;
  readonly exchanges: readonly Exchange[];
}

const aroundMs = 1_000;

/** What is known about a record around that time: what the log has of it and of all that it refers to, and who asked to change any of these. */
export function tellAbout(
  key: string,
  { startedAt, endedAt }: Pick<Exchange, 'startedAt' | 'endedAt'>,
  { chains, exchanges }: Told,
): string {
  const isNear = (fromMs: number, toMs: number): boolean =>
    toMs >= startedAt - aroundMs && fromMs <= endedAt + aroundMs;
  const values = (chains.get(key) ?? []).flatMap(({ event }) => (event === undefined ? [] : [event.values]));
  const keys = new Set([key, ...values.flatMap(referredBy)]);
  const events = [...keys]
    .flatMap((each) => chains.get(each) ?? [])
    .flatMap(({ event }) => (event !== undefined && isNear(event.at, event.at) ? [event] : []))
    .map((event) => {
      const { at, position, kind, revision } = event;
      const text = `${position} ${kind} ${keyOf(event)} ${revision} ${JSON.stringify(event.values)}`;
      return { fromMs: at, toMs: at, text };
    });
  const requests = exchanges
    .filter((each) => isNear(each.startedAt, each.endedAt) && touches(each, keys))
    .map(({ operation, ...each }) => {
      const text = `${each.status}${each.isReplayed ? ' replayed' : ''} on node ${each.node}: ${JSON.stringify(operation)}`;
      return { fromMs: each.startedAt, toMs: each.endedAt, text };
    });
  return [...events, ...requests]
    .toSorted((one, other) => one.fromMs - other.fromMs)
    .map(({ fromMs, toMs, text }) => `    ${fromMs - startedAt} to ${toMs - startedAt} ms: ${text}`)
    .join('\n');
}

function touches({ operation }: Exchange, keys: ReadonlySet<string>): boolean {
  if (operation.kind === 'truncate')
    return [...keys].some((key) => key.startsWith(`${operation.collection}/`));
  if (operation.kind !== 'write' && operation.kind !== 'batch') return false;
  return operation.intents.some(({ collection, id }) => keys.has(`${collection}/${id}`));
}
