import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useRouter } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import {
  currentSession,
  isBoundToEndpoints,
  isPortal,
  mayUse,
  onExpired,
  refreshSession,
} from '../api/session.ts';
import { publicSettingsQuery, settingsQuery } from '../api/settings.ts';
import { setAccent } from '../browser/accent.ts';
import { useKeys } from '../browser/keys.ts';
import { Frame } from './frame.tsx';
import { loadPalette, PaletteDialog } from './palette-dialog.tsx';
import { Sidebar } from './sidebar.tsx';

const refreshMs = 6 * 3_600_000;
/** The session of a portal ends an hour after its last request. */
const portalRefreshMs = 20 * 60_000;

/** The frame of all screens: collections at the side, the screen beside them, and the palette over both. */
export function Shell() {
  const [isPaletteOpen, setIsPaletteOpen] = useState(false);
  useReturnAfterExpiry();
  useOtherTabs();
  useAccent();
  useKeys({
    'Mod+k': (event) => {
      event.preventDefault();
      setIsPaletteOpen(true);
    },
    '/': (event) => {
      const filter = document.querySelector<HTMLInputElement>('[data-filter]');
      if (filter === null) return;
      event.preventDefault();
      filter.focus();
    },
  });
  return (
    <>
      <Frame
        renderSidebar={(isOpen, close) => (
          <Sidebar
            isOpen={isOpen}
            onReachSearch={() => void loadPalette().catch(() => undefined)}
            onSearch={() => {
              close();
              setIsPaletteOpen(true);
            }}
          />
        )}
      />
      {isPaletteOpen && <PaletteDialog onClose={() => setIsPaletteOpen(false)} />}
    </>
  );
}

/** Shows the accent colour of the settings, of which an API key may know no more. */
function useAccent(): void {
  const isAdmin = mayUse('admin');
  const { data: own } = useQuery({ ...settingsQuery, select: ({ meta }) => meta.accentColor });
  const { data: shown } = useQuery({
    ...publicSettingsQuery,
    enabled: !isAdmin,
    select: ({ accentColor }) => accentColor,
  });
  const color = isAdmin ? own : shown;
  useEffect(() => {
    // That of a portal is set with the rest of its look.
    if (color !== undefined && !isBoundToEndpoints()) setAccent(color);
  }, [color]);
}

/** Follows what another tab does: where that signs out nobody is signed in here, and what was shown is forgotten. */
function useOtherTabs(): void {
  const navigate = useNavigate();
  const router = useRouter();
  const queries = useQueryClient();
  useEffect(() => {
    let id = currentSession()?.id;
    const follow = (): void => {
      const next = currentSession()?.id;
      if (next === id) return;
      id = next;
      // Somebody else: what they may see is asked for anew.
      if (next !== undefined) return void queries.resetQueries();
      const { pathname, searchStr } = router.state.location;
      const search = { next: pathname + searchStr };
      void navigate({ to: '/login', search, replace: true }).then(() => queries.clear());
    };
    window.addEventListener('storage', follow);
    return () => window.removeEventListener('storage', follow);
  }, [navigate, router, queries]);
}

/** Sends people to sign in when the service takes their token no more, and back to the same place afterwards. */
function useReturnAfterExpiry(): void {
  const navigate = useNavigate();
  const router = useRouter();
  useQuery({
    queryKey: ['session'],
    queryFn: async () => {
      await refreshSession();
      return true;
    },
    staleTime: isPortal() ? portalRefreshMs : refreshMs,
    refetchInterval: isPortal() ? portalRefreshMs : refreshMs,
    retry: false,
  });
  useEffect(
    () =>
      onExpired((means) => {
        const { pathname, searchStr } = router.state.location;
        const search =
          means === 'portal'
            ? { expired: 'portal' }
            : { next: pathname + searchStr, expired: 'yes', ...(means === 'key' && { with: means }) };
        void navigate({ to: '/login', search, replace: true });
      }),
    [navigate, router],
  );
}
