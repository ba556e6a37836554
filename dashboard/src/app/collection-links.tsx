import { Link } from '@tanstack/react-router';
import ChevronRight from 'lucide-react/icons/chevron-right';
import Pin from 'lucide-react/icons/pin';
import PinOff from 'lucide-react/icons/pin-off';
import Plus from 'lucide-react/icons/plus';
import { type ReactNode, useState } from 'react';
import { basePath, type Collection } from '../api/client.ts';
import { useLoadedCollections } from '../api/collections.ts';
import { mayUse } from '../api/session.ts';
import { choicePreference, usePreference, useText, writeText } from '../browser/preferences.ts';
import { IconButton } from '../parts/button.tsx';
import { CollectionIcon } from '../parts/collection-icon.tsx';
import { useIsLocked } from '../parts/lock.tsx';
import { mayOpen, mayReach } from './may-open.ts';

const systemPreference = choicePreference('chancery:system-collections', ['folded', 'shown']);
/** Ids of collections, each instance its own. */
const pinsKey = `chancery:${basePath}:pins`;
/** With fewer, one sees them all at a glance. */
const findMin = 12;
/** Of one group. An instance has up to 1,000, and whoever has so many looks for a name. */
const shownMax = 100;

/** The collections: those that are pinned, then by kind, accounts first as there are few; those of the service itself are folded. */
export function CollectionLinks() {
  const collections = useLoadedCollections();
  const pins = (useText(pinsKey) ?? '').split(' ');
  const isLocked = useIsLocked();
  const [text, setText] = useState('');
  if (collections === undefined) return <PlaceholderLinks />;
  const wanted = text.trim().toLowerCase();
  const own = collections.filter((collection) => !collection.system && mayReach(collection));
  const matches = own.filter(({ name }) => name.toLowerCase().includes(wanted));
  const pinned = matches.filter(({ id }) => pins.includes(id));
  const others = matches.filter(({ id }) => !pins.includes(id));
  const togglePin = ({ id }: Collection): void => {
    const next = pins.includes(id) ? pins.filter((pin) => pin !== id) : [...pins, id];
    // Those of collections that are gone go as well.
    writeText(pinsKey, next.filter((pin) => own.some((one) => one.id === pin)).join(' '));
  };
  const groups = { pins, onPin: togglePin };
  return (
    <>
      <div className="nav-group">
        <div className="nav-title">
          <h2>Collections</h2>
          {mayOpen('/new-collection') && !isLocked && (
            <Link
              to="/new-collection"
              className="icon-button"
              data-small=""
              aria-label="New collection"
              data-tip=""
            >
              <Plus size={14} aria-hidden />
            </Link>
          )}
        </div>
        {own.length >= findMin && (
          <input
            className="input nav-find"
            type="search"
            aria-label="Find a collection"
            placeholder="Find a collection"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </div>
      <LinkGroup title="Pinned" collections={pinned} {...groups} />
      <LinkGroup title="Accounts" collections={others.filter(({ type }) => type === 'auth')} {...groups} />
      <LinkGroup title="Records" collections={others.filter(({ type }) => type !== 'auth')} {...groups} />
      {matches.length === 0 && wanted !== '' && <p className="nav-none">No collection matches “{text}”</p>}
      {mayUse('admin') && <SystemLinks collections={collections.filter(({ system }) => system)} />}
    </>
  );
}

function SystemLinks({ collections }: { readonly collections: readonly Collection[] }) {
  const isSystemShown = usePreference(systemPreference) === 'shown';
  return (
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
      {isSystemShown && (
        <ul>
          {collections.map((collection) => (
            <CollectionLink key={collection.id} collection={collection} />
          ))}
        </ul>
      )}
    </div>
  );
}

interface LinkGroupProps {
  readonly title: string;
  readonly collections: readonly Collection[];
  readonly pins: readonly string[];
  readonly onPin: (collection: Collection) => void;
}

function LinkGroup({ title, collections, pins, onPin }: LinkGroupProps) {
  const [isWhole, setIsWhole] = useState(false);
  if (collections.length === 0) return null;
  const shown = isWhole ? collections : collections.slice(0, shownMax);
  return (
    <div className="nav-group">
      <h3 className="nav-title">{title}</h3>
      <ul>
        {shown.map((collection) => {
          const isPinned = pins.includes(collection.id);
          const Icon = isPinned ? PinOff : Pin;
          return (
            <CollectionLink key={collection.id} collection={collection}>
              <IconButton
                small
                className="nav-pin"
                label={`${isPinned ? 'Unpin' : 'Pin'} ${collection.name}`}
                onClick={() => onPin(collection)}
              >
                <Icon size={12} aria-hidden />
              </IconButton>
            </CollectionLink>
          );
        })}
      </ul>
      {shown.length < collections.length && (
        <button type="button" className="nav-link" onClick={() => setIsWhole(true)}>
          Show all {collections.length.toLocaleString()}
        </button>
      )}
    </div>
  );
}

function CollectionLink({
  collection,
  children,
}: {
  readonly collection: Collection;
  readonly children?: ReactNode;
}) {
  return (
    <li className="nav-item">
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
      {children}
    </li>
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
