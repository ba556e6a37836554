import { useEffect, useEffectEvent, useId, useRef, type ReactNode } from 'react';
import type { Collection } from '../../api/client.ts';
import { isExpression } from '../../api/expressions.ts';
import { FilterEnd, FilterProblem } from '../../parts/expression-input.tsx';
import { plural } from '../../parts/time.tsx';
import { useFilterText } from '../../parts/use-filter-text.ts';
import { writeText } from '../../parts/write-text.ts';
import { FilterChips } from './filter-chips.tsx';
import { useFilterHistory } from './use-filter-history.ts';
import { FilterInput } from './filter-input.tsx';
import { errorPosition } from './record-filter.ts';

const keptAfterMs = 1_000;

interface FilterBarProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
  /** How many records it selects; undefined as long as they are being counted. */
  readonly count: number | undefined;
  /** What the service says of the filter. */
  readonly error: string | undefined;
  /** What stands beside it. */
  readonly children: ReactNode;
}

/** Looks for a word while it is typed; an expression waits for Enter, as half of one is an error. */
export function FilterBar(props: FilterBarProps) {
  const { collection, collections, filter, onFilter, count, error } = props;
  const id = useId();
  const [text, setText] = useFilterText({ filter, isExpression, onFilter });
  const input = useRef<HTMLInputElement>(null);
  const history = useFilterHistory(collection.id);
  useGoodFilter(props, history.add);
  const isAsSent = text === filter && isExpression(text);
  const position = error === undefined || !isAsSent ? undefined : errorPosition(error);
  return (
    <search className="filter">
      <div className="filter-row">
        <FilterInput
          collection={collection}
          collections={collections}
          input={input}
          text={text}
          history={history.filters}
          errorId={error === undefined ? undefined : id}
          onText={setText}
          onApply={onFilter}
        >
          <FilterEnd
            text={text}
            filter={filter}
            onClear={() => {
              onFilter('');
              setText('');
            }}
          />
        </FilterInput>
        <span className="filter-count" aria-live="polite">
          {count === undefined ? '' : plural(count, 'record')}
        </span>
        {props.children}
      </div>
      {error === undefined && (
        <FilterChips
          filter={filter}
          onFilter={onFilter}
          onMark={(start, end) => {
            writeText(input.current, { write: () => setText(filter), start, end });
          }}
        />
      )}
      {error !== undefined && <FilterProblem id={id} message={error} position={position} />}
    </search>
  );
}

/** Keeps a filter once it has selected something. */
function useGoodFilter({ filter, count }: FilterBarProps, add: (filter: string) => void): void {
  const keep = useEffectEvent(add);
  const isGood = count !== undefined && count > 0 && filter !== '';
  useEffect(() => {
    if (!isGood) return undefined;
    // Not each letter of a word that is being typed.
    const timer = setTimeout(() => keep(filter), keptAfterMs);
    return () => clearTimeout(timer);
  }, [filter, isGood]);
}
