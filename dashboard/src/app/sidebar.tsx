import { Link } from '@tanstack/react-router';
import KeyRound from 'lucide-react/icons/key-round';
import Search from 'lucide-react/icons/search';
import { isPortal, useSession } from '../api/session.ts';
import { useInstanceName } from '../api/use-instance-name.ts';
import { Key } from '../parts/key.tsx';
import { Logo, ReturnLink, usePortalLook } from '../parts/portal-look.tsx';
import { AccountMenu, useSignOut } from './account-menu.tsx';
import { CollectionLinks } from './collection-links.tsx';
import { mayOpen } from './may-open.ts';
import { screenLinks } from './screen-links.ts';

interface SidebarProps {
  /** On narrow screens, where it lies over the screen. */
  readonly isOpen: boolean;
  readonly onSearch: () => void;
  /** The pointer or the focus is on the button that searches. */
  readonly onReachSearch: () => void;
}

export function Sidebar({ isOpen, onSearch, onReachSearch }: SidebarProps) {
  const name = useInstanceName();
  const look = usePortalLook();
  const links = useScreenLinks();
  const session = useSession();
  const leave = useSignOut();
  return (
    <nav className="sidebar" aria-label="Main" data-open={isOpen ? '' : undefined}>
      <div className="sidebar-head">
        <Logo logo={look?.logo} />
        <span className="sidebar-name cut">{look?.name ?? name}</span>
      </div>
      <button
        type="button"
        className="sidebar-search"
        onClick={onSearch}
        onPointerEnter={onReachSearch}
        onFocus={onReachSearch}
      >
        <Search size={14} aria-hidden />
        Search
        <Key keys="ModK" />
      </button>
      <div className="sidebar-scroll" tabIndex={-1}>
        {links.map(({ to, label, icon: Icon }) => (
          <Link key={to} to={to} className="nav-link">
            <Icon size={15} aria-hidden />
            {label}
          </Link>
        ))}
        {mayOpen('/c') && <CollectionLinks />}
      </div>
      <div className="sidebar-foot">
        <ReturnLink url={look?.returnUrl ?? ''} />
        <AccountMenu label={session?.label ?? ''} onLeave={leave} />
      </div>
    </nav>
  );
}

/** The screens that are offered: to an API key only those that its scopes allow, and what it may do. */
function useScreenLinks() {
  const session = useSession();
  const allowed = screenLinks.filter(({ to }) => mayOpen(to));
  return session?.key === undefined || isPortal() ? allowed : [...allowed, keyLink];
}

const keyLink = { to: '/key', label: 'API key', icon: KeyRound } as const;
