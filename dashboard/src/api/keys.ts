import { queryOptions } from '@tanstack/react-query';
import { call } from './client.ts';
import { membersOf } from './members-of.ts';
import type { Schemas } from './schema.ts';

export type ApiKey = Schemas['ApiKey'];
export type KeyScope = ApiKey['scopes'][number];

const scopeTexts: Readonly<Record<KeyScope, string>> = {
  'records:read': 'Read records and their files',
  'records:write': 'Create, change and delete records',
  'collections:read': 'Read collection definitions',
  'collections:write': 'Change definitions and rules, which can expose every record',
  'webhooks:read': 'Read endpoints, events and deliveries',
  'webhooks:write': 'Change endpoints, read their secrets, resend',
  metrics: 'Read metrics of the whole service (default instance only)',
  admin: 'Everything, like a superuser',
};

/** What each scope opens, in the order in which they are offered. */
export const keyScopes = membersOf(scopeTexts).map((scope) => ({ scope, text: scopeTexts[scope] }));

/** All keys: there are at most 1,000. */
export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: async ({ signal }) =>
    (await call('GET /api/keys', { query: { perPage: 1000, skipTotal: true, sort: '-created' }, signal }))
      .items,
});
