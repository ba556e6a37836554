import Menu from 'lucide-react/icons/menu';
import { createContext, use, useEffect, useRef, type ReactNode } from 'react';
import { IconButton } from './button.tsx';

/** Opens the sidebar where there is no room for it beside the screen. */
export const SidebarContext = createContext<() => void>(() => {});

interface BarProps {
  readonly title: ReactNode;
  /** What belongs to the title and is no part of it. */
  readonly aside?: ReactNode;
  readonly children?: ReactNode;
}

/** The head of a screen: what it is, and what can be done here. The title of the page is the same. */
export function Bar({ title, aside, children }: BarProps) {
  const openSidebar = use(SidebarContext);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${heading.current?.textContent ?? ''} · Chancery`;
  });
  return (
    <header className="bar">
      <IconButton label="Menu" className="menu-button" onClick={openSidebar}>
        <Menu size={18} aria-hidden />
      </IconButton>
      <h1 ref={heading}>{title}</h1>
      {aside}
      <div className="bar-end">{children}</div>
    </header>
  );
}
