import { useQuery } from '@tanstack/react-query';
import { mayUse } from './session.ts';
import { settingsQuery } from './settings.ts';

/** What the instance is called; for an API key that may not know it, where it is. */
export function useInstanceName(): string {
  const { data } = useQuery({ ...settingsQuery, select: ({ meta }) => meta.appName });
  return data ?? (mayUse('admin') ? 'Chancery' : location.host);
}
