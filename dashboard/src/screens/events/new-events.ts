import { useEffect, useEffectEvent, useState } from 'react';
import { call, client, Failure } from '../../api/client.ts';
import { isInFeed } from '../../api/deliveries.ts';
import { isBoundToEndpoints } from '../../api/session.ts';
import type { LogSelection } from '../../api/events.ts';

const waitSeconds = 20;
const pauseMs = 10_000;
/** More are not counted: nobody reads that many one after the other. */
const countMax = 999;

/**
 * Counts the events that have come since the list was read, by waiting at the feed. They stay outside until somebody wants to see them.
 * Where there is no feed, none is counted. It is not for keys for some endpoints: for them the list is looked at from time to time.
 */
export function useNewEvents(selection: LogSelection, shown: ReadonlySet<string>) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const { collection, kind, record, until, find, sort } = selection;
  const add = useEffectEvent((found: readonly string[]) => {
    if (found.length > 0) setIds((before) => new Set([...before, ...found].slice(0, countMax)));
  });
  useEffect(() => {
    // Of those that come, a search knows nothing; and the oldest come first where the order is that of the log.
    if (until !== '' || find !== '' || sort !== '-created' || (kind !== '' && !isInFeed(kind)))
      return undefined;
    const end = new AbortController();
    const following = { collection, kind, record, add, signal: end.signal };
    void (isBoundToEndpoints() ? followList(following) : follow(following));
    return () => end.abort();
  }, [collection, kind, record, until, find, sort]);
  return {
    count: [...ids].filter((id) => !shown.has(id)).length,
    forget: () => setIds(new Set()),
  };
}

interface Following extends Pick<LogSelection, 'collection' | 'kind' | 'record'> {
  readonly add: (ids: readonly string[]) => void;
  readonly signal: AbortSignal;
}

async function follow({ collection, kind, record, add, signal }: Following): Promise<void> {
  const query = { events: kind, collections: collection };
  let place: { readonly cursor: string } | { readonly since: string } | undefined;
  while (!signal.aborted)
    try {
      place ??= { since: await newestTime(signal) };
      const answer = await call('GET /api/webhooks/feed', {
        query: { ...query, ...place, wait: waitSeconds },
        signal,
      });
      place = { cursor: answer.nextCursor };
      add(
        answer.items
          .filter(({ payload }) => record === '' || idOf(payload['data']) === record)
          .map(({ id }) => id),
      );
    } catch (error) {
      // The feed is off: it would be so the next time.
      if (error instanceof Failure && error.status === 400) return;
      await pause(signal);
    }
}

const lookedAt = 100;

async function followList({ collection, kind, record, add, signal }: Following): Promise<void> {
  const conditions = Object.entries({ collection, kind, record })
    .filter(([, value]) => value !== '')
    .map(([name, value]) => client.filter(`${name} = {:value}`, { value }));
  const filter = conditions.join(' && ');
  const query = { perPage: lookedAt, sort: '-created', skipTotal: true, fields: 'id' };
  while (!signal.aborted) {
    await pause(signal);
    try {
      const page = await call('GET /api/webhooks/events', {
        query: { ...query, ...(filter !== '' && { filter }) },
        signal,
      });
      add(page.items.map(({ id }) => id));
    } catch {
      // The next look may succeed.
    }
  }
}

/** When the newest event was made, by the clock of the service. */
async function newestTime(signal: AbortSignal): Promise<string> {
  const query = { perPage: 1, sort: '-created', skipTotal: true };
  const { items } = await call('GET /api/webhooks/events', { query, signal });
  return items[0]?.created ?? '';
}

function idOf(data: unknown): unknown {
  return typeof data === 'object' && data !== null && 'id' in data ? data.id : undefined;
}

async function pause(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, pauseMs);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
