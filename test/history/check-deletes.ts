import { isNextDelete } from './check-chains.ts';
import type { Chains, StoredEvent } from './chains.ts';
import { isDone, isDuring, type Exchange, type Operation } from './exchange.ts';
import type { Report } from './evidence.ts';
import { tellAbout } from './tell-about.ts';
import { unmatched } from './unmatched.ts';

/** What an acknowledged request can have deleted, once: a record itself, all of a post with it, or one of all that were there. */
interface Cause {
  readonly exchange: Exchange;
  /** The key of a record, or the name of a collection that was truncated. */
  readonly of: string;
  /** The revision that was asked for with `If-Match`. */
  readonly expected: number | undefined;
}

/**
 * Every delete that was acknowledged has an event of its own, and every other delete a reason of its own: a truncation, or the delete of
 * a post. Who has deleted what is not told where several may have done so; but if each delete can be given an event and each event
 * a reason, then also both at once (Mendelsohn and Dulmage).
 */
export function checkDeletes(chains: Chains, exchanges: readonly Exchange[], report: Report): void {
  const causes = Map.groupBy(causesOf(exchanges), ({ of }) => of);
  for (const [key, chain] of chains) {
    const events = chain.flatMap(({ event }) => (event?.kind === 'record.delete' ? [event] : []));
    const own = causes.get(key) ?? [];
    const say = (text: string, time: Parameters<typeof tellAbout>[1]): void =>
      report(`${key}: ${text}\n${tellAbout(key, time, { chains, exchanges })}`);
    for (const { exchange } of unmatched(own, (cause) => events.filter((event) => isBy(cause, event))))
      say('a delete that was acknowledged is not in the log', exchange);
    const reasonsOf = (event: StoredEvent): readonly Cause[] =>
      [...own, ...(causes.get(event.collection) ?? []), ...cascadesOf(event, { chains, causes })].filter(
        (cause) => isBy(cause, event),
      );
    for (const event of unmatched(events, reasonsOf))
      say(`deleted by nobody at ${event.position}`, { startedAt: event.at, endedAt: event.at });
  }
}

function isBy({ exchange, expected }: Cause, event: StoredEvent): boolean {
  return isDuring(exchange, event) && (expected === undefined || event.revision === expected + 1);
}

/** A truncation that was refused in the end has kept what it had deleted by then, of more records than there are here. */
function causesOf(exchanges: readonly Exchange[]): readonly Cause[] {
  const done = new Set<Operation>();
  return exchanges.flatMap((exchange) => {
    const { operation } = exchange;
    if (!isDone(exchange) || exchange.isReplayed || done.has(operation)) return [];
    done.add(operation);
    if (operation.kind === 'truncate') return [{ exchange, of: operation.collection, expected: undefined }];
    if (operation.kind !== 'write' && operation.kind !== 'batch') return [];
    return operation.intents
      .filter(({ kind }) => kind === 'delete')
      .map(({ collection, id, expected }) => ({ exchange, of: `${collection}/${id}`, expected }));
  });
}

interface Causes {
  readonly chains: Chains;
  readonly causes: ReadonlyMap<string, readonly Cause[]>;
}

/** Of its post, which went right behind it: whichever revision that had. */
function cascadesOf(event: StoredEvent, { chains, causes }: Causes): readonly Cause[] {
  const post = `posts/${String(event.values['post'])}`;
  if (event.collection !== 'comments' || !isNextDelete(chains.get(post), event)) return [];
  return (causes.get(post) ?? []).map((cause) => ({ ...cause, expected: undefined }));
}
