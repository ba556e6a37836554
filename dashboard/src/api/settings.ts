import { queryOptions } from '@tanstack/react-query';
import { call } from './client.ts';
import type { Schemas } from './schema.ts';
import { mayUse } from './session.ts';

export type Settings = Schemas['Settings'];

/** What superusers have decided about their instance; without secrets, which no answer holds. */
export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: async ({ signal }) => call('GET /api/settings', { signal }),
  staleTime: 60_000,
  enabled: () => mayUse('admin'),
});

/** What anybody may know of an instance: its name and its accent colour. */
export const publicSettingsQuery = queryOptions({
  queryKey: ['settings', 'public'],
  queryFn: async ({ signal }) => call('GET /api/settings/public', { signal }),
  staleTime: 60_000,
});
