import { queryOptions } from '@tanstack/react-query';
import { call } from './client.ts';
import type { Schemas } from './schema.ts';

export type CatcherRequest = Schemas['CatcherRequest'];

const refreshMs = 1_000;

/** Makes a URL of the service that keeps for an hour what it is sent. */
export async function createCatcher(): Promise<Schemas['Catcher']> {
  return call('POST /api/webhooks/catchers');
}

/** What a catcher was sent, the last first. Looked at every second: somebody waits for it. */
export function catcherQuery(id: string) {
  return queryOptions({
    queryKey: ['catchers', id],
    queryFn: async ({ signal }) => call('GET /api/webhooks/catchers/{id}', { path: { id }, signal }),
    enabled: id !== '',
    refetchInterval: ({ state }) => (state.status === 'error' ? false : refreshMs),
  });
}

/** The id in the URL of a catcher; empty for every other URL. */
export function catcherIdOf(url: string): string {
  const [, id = ''] = /\/api\/webhooks\/catchers\/([^/?#]+)\/requests(?:[?#]|$)/.exec(url) ?? [];
  return id;
}
