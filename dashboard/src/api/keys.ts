import { queryOptions } from '@tanstack/react-query';
import { call } from './client.ts';
import type { Schemas } from './schema.ts';

export type ApiKey = Schemas['ApiKey'];
export type KeyScope = ApiKey['scopes'][number];

/** What each scope opens, in the order in which they are offered. */
export const keyScopes: readonly { readonly scope: KeyScope; readonly text: string }[] = [
  { scope: 'records:read', text: 'Read records and their files' },
  { scope: 'records:write', text: 'Create, change and delete records' },
  { scope: 'collections:read', text: 'Read definitions of collections' },
  {
    scope: 'collections:write',
    text: 'Change definitions and their rules, and through those open every record',
  },
  { scope: 'webhooks:read', text: 'Read endpoints, events and deliveries' },
  { scope: 'webhooks:write', text: 'Change endpoints, read their secrets, send again' },
  { scope: 'metrics', text: 'Read metrics of the whole service, with a key of the default instance' },
  { scope: 'admin', text: 'Everything, like a superuser' },
];

/** All keys: there are at most 1,000. */
export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: async ({ signal }) =>
    (await call('GET /api/keys', { query: { perPage: 1000, skipTotal: true, sort: '-created' }, signal }))
      .items,
});
