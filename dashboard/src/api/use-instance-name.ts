import { queryOptions, useQuery } from '@tanstack/react-query';
import { call } from './client.ts';

const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: async ({ signal }) => call('GET /api/settings', { signal }),
  staleTime: 60_000,
});

/** What the instance is called. */
export function useInstanceName(): string {
  const { data } = useQuery({ ...settingsQuery, select: ({ meta }) => meta.appName });
  return data ?? 'Chancery';
}
