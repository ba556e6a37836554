import X from 'lucide-react/icons/x';
import { useEffect, useEffectEvent, useState } from 'react';
import { useLoadedCollections } from '../../api/collections.ts';
import type { Event as LogEvent } from '../../api/events.ts';
import { Button } from '../../parts/button.tsx';
import { eventKinds } from '../../parts/delivery-words.ts';
import { type EventSearch, isSpan } from './event-search.ts';

interface EventFiltersProps {
  readonly search: EventSearch;
  readonly onChange: (search: EventSearch) => void;
}

/** Which events are shown, as plain choices: no expression has to be learned for a log. */
export function EventFilters({ search, onChange }: EventFiltersProps) {
  const { collection = '', kind = '' } = search;
  const set = (change: EventChange): void => {
    const entries = Object.entries({ ...search, ...change });
    onChange(Object.fromEntries(entries.filter(([, value]) => value !== '' && value !== undefined)));
  };
  return (
    <search className="event-filters" aria-label="Filter events">
      <CollectionChoice value={collection} onChange={(name) => set({ collection: name })} />
      <select
        className="input"
        aria-label="Type"
        value={kind}
        onChange={(event) => set({ kind: toKind(event.target.value) })}
      >
        <option value="">All types</option>
        {eventKinds.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <RecordInput value={search.record ?? ''} onChange={(record) => set({ record })} />
      {/* Made anew when the filters are cleared, as it knows whether dates were wanted. */}
      <TimeChoice key={String(Object.keys(search).length === 0)} search={search} onChange={set} />
      {Object.keys(search).length > 0 && (
        <Button tone="quiet" onClick={() => onChange({})}>
          <X size={14} aria-hidden />
          Clear
        </Button>
      )}
    </search>
  );
}

type EventChange = { readonly [Name in keyof EventSearch]: EventSearch[Name] | undefined };

interface ChoiceProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function CollectionChoice({ value, onChange }: ChoiceProps) {
  const collections = useLoadedCollections() ?? [];
  const own = collections.filter(({ system }) => !system).map(({ name }) => name);
  // The log may tell of one that was renamed or deleted since.
  const names = value === '' || own.includes(value) ? own : [value, ...own];
  // An API key may not know which there are.
  if (names.length === 0) return null;
  return (
    <select
      className="input"
      aria-label="Collection"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">All collections</option>
      {names.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

interface TimeChoiceProps {
  readonly search: EventSearch;
  readonly onChange: (change: EventChange) => void;
}

function TimeChoice({ search: { from = '', until = '' }, onChange }: TimeChoiceProps) {
  const [isExact, setIsExact] = useState((from !== '' && !isSpan(from)) || until !== '');
  return (
    <>
      <select
        className="input"
        aria-label="Time"
        value={isExact ? 'exact' : from}
        onChange={({ target: { value } }) => {
          setIsExact(value === 'exact');
          if (value !== 'exact') onChange({ from: value, until: undefined });
        }}
      >
        <option value="">Any time</option>
        <option value="1h">Last hour</option>
        <option value="24h">Last 24 hours</option>
        <option value="7d">Last 7 days</option>
        <option value="exact">Between …</option>
      </select>
      {isExact && (
        <>
          <TimeInput
            label="From"
            value={isSpan(from) ? '' : from}
            onChange={(value) => onChange({ from: value })}
          />
          <TimeInput label="Until" value={until} onChange={(value) => onChange({ until: value })} />
        </>
      )}
    </>
  );
}

function toKind(text: string): LogEvent['kind'] | undefined {
  return eventKinds.find((kind) => kind === text);
}

const pauseMs = 250;

function RecordInput({ value, onChange }: ChoiceProps) {
  const [text, setText] = useState(value);
  useFollow(value, setText);
  const apply = useEffectEvent(onChange);
  useEffect(() => {
    if (text.trim() === value) return undefined;
    const timer = setTimeout(() => apply(text.trim()), pauseMs);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <input
      className="input mono"
      data-filter
      aria-label="Record id"
      placeholder="Record id"
      value={text}
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => setText(event.target.value)}
    />
  );
}

/** Shows what the address has when that changes: by Back, by a link, or when the filters are cleared. */
function useFollow(value: string, setText: (text: string) => void): void {
  const follow = useEffectEvent((next: string) => setText(next));
  useEffect(() => follow(value), [value]);
}

interface TimeInputProps extends ChoiceProps {
  readonly label: string;
}

/** A moment in the time zone of the reader, kept as the browser writes it. */
function TimeInput({ label, value, onChange }: TimeInputProps) {
  return (
    <input
      className="input"
      type="datetime-local"
      step="1"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
