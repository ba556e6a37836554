import { Outlet, useRouterState } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
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
