import { Link } from '@tanstack/react-router';
import ChevronRight from 'lucide-react/icons/chevron-right';
import KeyRound from 'lucide-react/icons/key-round';
import Plus from 'lucide-react/icons/plus';
import Search from 'lucide-react/icons/search';
import type { Collection } from '../api/client.ts';
import { useLoadedCollections } from '../api/collections.ts';
import { isPortal, mayUse, useSession } from '../api/session.ts';
import { useInstanceName } from '../api/use-instance-name.ts';
import { choicePreference, usePreference, writeText } from '../browser/preferences.ts';
import { CollectionIcon } from '../parts/collection-icon.tsx';
import { Key } from '../parts/key.tsx';
import { Logo, ReturnLink, usePortalLook } from '../parts/portal-look.tsx';
import { AccountMenu, useSignOut } from './account-menu.tsx';
import { mayOpen, mayReach } from './may-open.ts';
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

const systemPreference = choicePreference('chancery:system-collections', ['folded', 'shown']);

/** The collections by kind, accounts first as there are few; those of the service itself are folded until somebody wants them. */
function CollectionLinks() {
  const collections = useLoadedCollections();
  const isSystemShown = usePreference(systemPreference) === 'shown';
  if (collections === undefined) return <PlaceholderLinks />;
  const own = collections.filter((collection) => !collection.system && mayReach(collection));
  const system = collections.filter((collection) => collection.system);
  return (
    <>
      <LinkGroup title="Accounts" collections={own.filter(({ type }) => type === 'auth')} />
      <LinkGroup title="Collections" collections={own.filter(({ type }) => type !== 'auth')} />
      {mayOpen('/new-collection') && (
        <div className="nav-group">
          <Link to="/new-collection" className="nav-link">
            <Plus size={15} aria-hidden />
            New collection
          </Link>
        </div>
      )}
      {mayUse('admin') && (
        <div className="nav-group">
          <button
            type="button"
            className="nav-title"
            aria-expanded={isSystemShown}
            onClick={() => writeText(systemPreference.key, isSystemShown ? 'folded' : 'shown')}
          >
            <ChevronRight size={12} aria-hidden />
            System
          </button>
          {isSystemShown && <Links collections={system} />}
        </div>
      )}
    </>
  );
}

function LinkGroup({
  title,
  collections,
}: {
  readonly title: string;
  readonly collections: readonly Collection[];
}) {
  if (collections.length === 0) return null;
  return (
    <div className="nav-group">
      <h2 className="nav-title">{title}</h2>
      <Links collections={collections} />
    </div>
  );
}

function Links({ collections }: { readonly collections: readonly Collection[] }) {
  return (
    <ul>
      {collections.map((collection) => (
        <li key={collection.id}>
          <Link
            to="/c/$collection"
            params={{ collection: collection.name }}
            className="nav-link"
            // A collection is the current one whatever is filtered in it.
            activeOptions={{ includeSearch: false }}
          >
            <CollectionIcon collection={collection} />
            <span className="cut">{collection.name}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

const placeholderWidths = [84, 62, 108, 74];

function PlaceholderLinks() {
  return (
    <div className="nav-group" aria-hidden>
      {placeholderWidths.map((inlineSize) => (
        <div key={inlineSize} className="nav-link">
          <span className="placeholder" style={{ inlineSize }} />
        </div>
      ))}
    </div>
  );
}
