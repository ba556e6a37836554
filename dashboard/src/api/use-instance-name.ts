import { useQuery } from '@tanstack/react-query';
import { mayUse } from './session.ts';
import { publicSettingsQuery, settingsQuery } from './settings.ts';

/** What the instance is called. An API key may know that of the settings, and the colour, and no more. */
export function useInstanceName(): string {
  const isAdmin = mayUse('admin');
  const { data: own } = useQuery({ ...settingsQuery, select: ({ meta }) => meta.appName });
  const { data: shown } = useQuery({
    ...publicSettingsQuery,
    enabled: !isAdmin,
    select: ({ appName }) => appName || location.host,
  });
  return (isAdmin ? own : shown) ?? (isAdmin ? 'Chancery' : location.host);
}
