import { Outlet, useRouterState } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import CloudOff from 'lucide-react/icons/cloud-off';
import { useIsLost } from '../api/use-is-lost.ts';
import { SidebarContext } from '../parts/bar.tsx';

interface FrameProps {
  readonly renderSidebar: (isOpen: boolean, close: () => void) => ReactNode;
}

/** A sidebar, and the screen beside it. On a narrow screen the sidebar lies over that, until one goes somewhere. */
export function Frame({ renderSidebar }: FrameProps) {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  /** The path at which it was opened. */
  const [openAt, setOpenAt] = useState<string>();
  const close = (): void => setOpenAt(undefined);
  return (
    <SidebarContext value={() => setOpenAt(path)}>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <LostNotice />
      <div className="shell">
        {renderSidebar(openAt === path, close)}
        <button type="button" className="sidebar-scrim" aria-label="Close the menu" onClick={close} />
        <main className="main" id="main" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
    </SidebarContext>
  );
}

/** Over every screen: what is shown may be old, and nothing has to be done about it here. */
function LostNotice() {
  if (!useIsLost()) return null;
  return (
    <div className="lost" role="alert">
      <CloudOff size={15} aria-hidden />
      The service can’t be reached. Retrying every 2 seconds.
    </div>
  );
}
