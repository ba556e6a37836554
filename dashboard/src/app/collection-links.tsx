import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import ChevronRight from 'lucide-react/icons/chevron-right';
import Pin from 'lucide-react/icons/pin';
import PinOff from 'lucide-react/icons/pin-off';
import Plus from 'lucide-react/icons/plus';
import { useLayoutEffect, useRef, useState } from 'react';
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
const linkHeight = 28;
/** With the room above it. */
const titleHeight = 38;

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
  const entries = [
    ...entriesOf('Pinned', pinned),
    ...entriesOf(
      'Accounts',
      others.filter(({ type }) => type === 'auth'),
    ),
    ...entriesOf(
      'Records',
      others.filter(({ type }) => type !== 'auth'),
    ),
  ];
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
      {/* Anew where what is above it comes or goes. */}
      <LinkList key={own.length} entries={entries} pins={pins} onPin={togglePin} />
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
            <li key={collection.id} className="nav-item">
              <CollectionLink collection={collection} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** A title, or a collection with its place among those of that title. */
type LinkEntry = string | { readonly collection: Collection; readonly position: number; readonly of: number };

function entriesOf(title: string, collections: readonly Collection[]): readonly LinkEntry[] {
  if (collections.length === 0) return [];
  const of = collections.length;
  return [title, ...collections.map((collection, index) => ({ collection, position: index + 1, of }))];
}

interface LinkListProps {
  readonly entries: readonly LinkEntry[];
  readonly pins: readonly string[];
  readonly onPin: (collection: Collection) => void;
}

/** Of the links, those in sight are in the page: an instance has up to 1,000 collections. */
function LinkList({ entries, pins, onPin }: LinkListProps) {
  const list = useRef<HTMLUListElement>(null);
  const [scrollMargin, setScrollMargin] = useState(0);
  const scrollOf = (): HTMLElement | null => list.current?.closest('.sidebar-scroll') ?? null;
  const keyOf = (index: number): string => {
    const entry = entries[index] ?? '';
    return typeof entry === 'string' ? entry : entry.collection.id;
  };
  useLayoutEffect(() => {
    const scroll = list.current?.closest('.sidebar-scroll');
    if (!scroll || list.current === null) return;
    const offset = list.current.getBoundingClientRect().top - scroll.getBoundingClientRect().top;
    setScrollMargin(offset + scroll.scrollTop);
  }, []);
  const virtualizer = useVirtualizer({
    count: entries.length,
    getScrollElement: scrollOf,
    estimateSize: (index) => (typeof entries[index] === 'string' ? titleHeight : linkHeight),
    getItemKey: keyOf,
    overscan: 12,
    scrollMargin,
  });
  const items = virtualizer.getVirtualItems();
  const before = (items[0]?.start ?? scrollMargin) - scrollMargin;
  const after = virtualizer.getTotalSize() - ((items.at(-1)?.end ?? scrollMargin) - scrollMargin);
  return (
    <ul ref={list} style={{ paddingBlock: `${before}px ${after}px` }}>
      {items.map(({ index, key }) => {
        const entry = entries[index];
        if (entry === undefined) return null;
        const measured = { ref: virtualizer.measureElement, 'data-index': index };
        if (typeof entry === 'string')
          return (
            <li key={key} {...measured} className="nav-heading">
              <h3 className="nav-title">{entry}</h3>
            </li>
          );
        const { collection, position, of } = entry;
        return (
          <li key={key} {...measured} className="nav-item" aria-setsize={of} aria-posinset={position}>
            <CollectionLink collection={collection} />
            <PinButton collection={collection} isPinned={pins.includes(collection.id)} onPin={onPin} />
          </li>
        );
      })}
    </ul>
  );
}

interface PinButtonProps extends Pick<LinkListProps, 'onPin'> {
  readonly collection: Collection;
  readonly isPinned: boolean;
}

function PinButton({ collection, isPinned, onPin }: PinButtonProps) {
  const Icon = isPinned ? PinOff : Pin;
  return (
    <IconButton
      small
      className="nav-pin"
      label={`${isPinned ? 'Unpin' : 'Pin'} ${collection.name}`}
      onClick={() => onPin(collection)}
    >
      <Icon size={12} aria-hidden />
    </IconButton>
  );
}

function CollectionLink({ collection }: { readonly collection: Collection }) {
  return (
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
