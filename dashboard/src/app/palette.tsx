import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import { call } from '../api/client.ts';
import { logEntryQuery } from '../api/find-in-log.ts';
import type { Schemas } from '../api/schema.ts';
import { mayOpenRecords } from '../api/session.ts';
import { CollectionIcon } from '../parts/collection-icon.tsx';
import { Key } from '../parts/key.tsx';
import { useSettled } from '../parts/use-settled.ts';
import { PaletteInput } from './palette-dialog.tsx';
import { type PaletteItem, toLogItem, toRecordItem, usePaletteItems } from './palette-items.tsx';

interface PaletteProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onClose: () => void;
}

/** ⌘K: every screen, collection and action by its name, and records by their ids and texts. */
export function Palette({ text, onText, onClose }: PaletteProps) {
  const [position, setPosition] = useState(0);
  const { items, note } = useMatches(text);
  const listId = useId();
  const navigate = useNavigate();
  const current = Math.min(position, items.length - 1);
  const run = (item: PaletteItem | undefined): void => {
    if (item === undefined) return;
    onClose();
    if (typeof item.act === 'function') item.act();
    else void navigate(item.act);
  };
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter') run(items[current]);
    else if (step !== undefined && items.length > 0)
      setPosition((current + step + items.length) % items.length);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <PaletteInput
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={items[current] === undefined ? undefined : `${listId}-${current}`}
        text={text}
        onText={(next) => {
          onText(next);
          setPosition(0);
        }}
        onKeyDown={move}
      />
      <PaletteList
        id={listId}
        text={text}
        items={items}
        current={current}
        onHover={setPosition}
        onRun={run}
      />
      {note !== '' && (
        <p className="palette-note" role="status">
          {note}
        </p>
      )}
      <PaletteFoot />
    </>
  );
}

function PaletteFoot() {
  return (
    <div className="palette-foot" aria-hidden>
      <span>
        <Key keys="↑" />
        <Key keys="↓" /> choose
      </span>
      <span>
        <Key keys="↵" /> open
      </span>
      <span>
        <Key keys="esc" /> close
      </span>
    </div>
  );
}

interface PaletteListProps {
  readonly id: string;
  readonly text: string;
  readonly items: readonly PaletteItem[];
  readonly current: number;
  readonly onHover: (position: number) => void;
  readonly onRun: (item: PaletteItem) => void;
}

function PaletteList({ id, text, items, current, onHover, onRun }: PaletteListProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  return (
    <div className="palette-list" id={id} role="listbox" aria-label="Results" ref={list} tabIndex={-1}>
      {items.map((item, index) => (
        // The input has the focus and hears the keys (aria-activedescendant).
        <div
          key={item.key}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === current}
          className="menu-item"
          onPointerMove={() => onHover(index)}
          onClick={() => onRun(item)}
        >
          <ItemIcon icon={item.icon} />
          <span className="cut">{item.label}</span>
          <span className="menu-end">{item.kind}</span>
        </div>
      ))}
      {items.length === 0 && <p className="menu-label">No results for “{text}”</p>}
    </div>
  );
}

function ItemIcon({ icon: Icon }: Pick<PaletteItem, 'icon'>) {
  return 'fields' in Icon ? <CollectionIcon collection={Icon} /> : <Icon size={15} aria-hidden />;
}

const shownMax = 50;

/** What the text selects: the beginnings of names first, then names that have it anywhere, then what has its id, then records that have it in a text. */
function useMatches(text: string): { readonly items: readonly PaletteItem[]; readonly note: string } {
  const items = usePaletteItems();
  const search = useSearch(text.trim());
  const { data: entries = [] } = useQuery(logEntryQuery(text.trim()));
  const wanted = text.trim().toLowerCase();
  const having = items.filter(({ label }) => label.toLowerCase().includes(wanted));
  const [first, then] = [true, false].map((isFirst) =>
    having.filter(({ label }) => label.toLowerCase().startsWith(wanted) === isFirst),
  );
  const records = search?.items.map(toRecordItem) ?? [];
  const matches = [...(first ?? []), ...(then ?? []), ...entries.map(toLogItem)]
    .slice(0, shownMax - records.length)
    .concat(records);
  return { items: matches, note: search === undefined ? '' : searchNote(search) };
}

const textLengths = { min: 2, max: 100 };

/** Records of all collections, one request once the typing rests. */
function useSearch(text: string): Schemas['RecordSearch'] | undefined {
  const rested = useSettled(text);
  const isSearched = rested.length >= textLengths.min && rested.length <= textLengths.max;
  const { data } = useQuery({
    queryKey: ['search', rested],
    queryFn: async ({ signal }) => call('GET /api/search', { query: { text: rested }, signal }),
    enabled: isSearched && mayOpenRecords(),
  });
  return isSearched && rested === text ? data : undefined;
}

/** What the search of records has looked at, in a line: what it has skipped or cut may be there all the same. */
function searchNote({ items, collections, searched, recordsMax }: Schemas['RecordSearch']): string {
  const places = searched < collections ? `${searched} of ${collections}` : searched.toLocaleString();
  const counts = Map.groupBy(items, ({ collectionName }) => collectionName);
  const isCut = [...counts.values()].some(({ length }) => length >= resultsMax);
  return [
    `Searched ${places} ${collections === 1 ? 'collection' : 'collections'}`,
    `texts in the newest ${recordsMax.toLocaleString()} records`,
    ...(isCut ? [`at most ${resultsMax} results of each`] : []),
  ].join(', ');
}

/** So many records of a collection are found at most. */
const resultsMax = 5;
