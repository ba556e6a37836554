import Search from 'lucide-react/icons/search';
import X from 'lucide-react/icons/x';
import { useEffect, useEffectEvent, useId, useState } from 'react';
import { IconButton } from '../../parts/button.tsx';
import { Key } from '../../parts/key.tsx';
import { plural } from '../../parts/time.tsx';
import { errorPosition, isExpression } from './record-filter.ts';

const pauseMs = 220;

interface FilterBarProps {
  readonly collection: string;
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
  /** How many records it selects; undefined as long as they are being counted. */
  readonly count: number | undefined;
  /** What the service says of the filter. */
  readonly error: string | undefined;
}

/** Looks for a word while it is typed; an expression waits for Enter, as half of one is an error. */
export function FilterBar({ collection, filter, onFilter, count, error }: FilterBarProps) {
  const id = useId();
  const [text, setText] = useState(filter);
  const isWritten = isExpression(text);
  useFollow(filter, setText);
  useTypedWord(text, filter, onFilter);
  const position = error === undefined || text !== filter ? undefined : errorPosition(error);
  return (
    <search className="filter">
      <div className="filter-row">
        <div className="filter-input">
          <Search size={14} aria-hidden />
          <input
            className="input"
            data-filter
            data-expression={isWritten ? '' : undefined}
            aria-label={`Filter ${collection}`}
            aria-invalid={error !== undefined}
            aria-describedby={error === undefined ? undefined : id}
            placeholder="A word, or an expression: price > 10 && created > '2026-01-01'"
            value={text}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter') onFilter(text.trim());
              if (event.key === 'Escape' && text !== '') {
                event.preventDefault();
                onFilter('');
                setText('');
              }
            }}
          />
          <FilterEnd
            isPending={isWritten && text.trim() !== filter}
            isEmpty={text === ''}
            onClear={() => {
              onFilter('');
              setText('');
            }}
          />
        </div>
        <span className="filter-count" aria-live="polite">
          {count === undefined ? '' : plural(count, 'record')}
        </span>
      </div>
      {error !== undefined && (
        <div className="filter-error" id={id} role="alert">
          {position !== undefined && isWritten && (
            <div className="filter-caret" aria-hidden>
              {' '.repeat(position)}▲
            </div>
          )}
          {error}
        </div>
      )}
    </search>
  );
}

interface FilterEndProps {
  readonly isPending: boolean;
  readonly isEmpty: boolean;
  readonly onClear: () => void;
}

function FilterEnd({ isPending, isEmpty, onClear }: FilterEndProps) {
  if (isEmpty) return <Key keys="/" />;
  if (isPending) return <Key keys="↵" />;
  return (
    <IconButton small label="Clear the filter" onClick={onClear}>
      <X size={14} aria-hidden />
    </IconButton>
  );
}

/** Shows the filter of the address when that changes: by Back, or by a link. */
function useFollow(filter: string, setText: (text: string) => void): void {
  const follow = useEffectEvent((next: string) => setText(next));
  useEffect(() => follow(filter), [filter]);
}

function useTypedWord(text: string, filter: string, onFilter: (filter: string) => void): void {
  const apply = useEffectEvent(onFilter);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === filter || isExpression(wanted)) return undefined;
    const timer = setTimeout(() => apply(wanted), pauseMs);
    return () => clearTimeout(timer);
  }, [text, filter]);
}
