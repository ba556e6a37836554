import Search from 'lucide-react/icons/search';
import X from 'lucide-react/icons/x';
import { useId } from 'react';
import { firstOffset, isExpression } from '../api/expressions.ts';
import { IconButton } from './button.tsx';
import { Key } from './key.tsx';
import { useFilterText } from './use-filter-text.ts';

interface ExpressionInputProps {
  readonly label: string;
  readonly placeholder: string;
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
  /** What the service says of the filter. */
  readonly error: string | undefined;
}

/** Looks for a word while it is typed; an expression waits for Enter, as half of one is an error. */
export function ExpressionInput({ label, placeholder, filter, onFilter, error }: ExpressionInputProps) {
  const id = useId();
  const [text, setText] = useFilterText({ filter, isExpression, onFilter });
  const told = error === undefined ? undefined : toOwnPosition(error);
  const clear = (): void => {
    onFilter('');
    setText('');
  };
  return (
    <>
      <div className="filter-input">
        <Search size={14} aria-hidden />
        <input
          className="input"
          data-filter
          data-expression={isExpression(text) ? '' : undefined}
          aria-label={label}
          aria-invalid={told !== undefined}
          aria-describedby={told === undefined ? undefined : id}
          placeholder={placeholder}
          value={text}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') onFilter(text.trim());
            if (event.key === 'Escape' && text !== '') {
              event.preventDefault();
              clear();
            }
          }}
        />
        <FilterEnd text={text} filter={filter} onClear={clear} />
      </div>
      {told !== undefined && (
        <FilterProblem id={id} {...told} {...(text !== filter && { position: undefined })} />
      )}
    </>
  );
}

interface FilterEndProps {
  readonly text: string;
  readonly filter: string;
  readonly onClear: () => void;
}

/** At the end of a filter: the key that leads to it, the one that sends it, or what clears it. */
export function FilterEnd({ text, filter, onClear }: FilterEndProps) {
  if (text === '') return <Key keys="/" />;
  if (isExpression(text) && text.trim() !== filter) return <Key keys="↵" />;
  return <IconButton small label="Clear the filter" icon={X} onClick={onClear} />;
}

interface FilterProblemProps {
  readonly id: string;
  readonly message: string;
  /** Of the error in the filter above, if that is still there. */
  readonly position: number | undefined;
}

export function FilterProblem({ id, message, position }: FilterProblemProps) {
  return (
    <div className="filter-error" id={id} role="alert">
      {position !== undefined && (
        <div className="filter-caret" aria-hidden>
          {' '.repeat(position)}▲
        </div>
      )}
      {message}
    </div>
  );
}

/** Counts the position of an error from the beginning of what was typed, as that is what people see. */
function toOwnPosition(message: string): { readonly message: string; readonly position: number | undefined } {
  const [found = '', digits] = /\bat position (\d+)/.exec(message) ?? [];
  if (digits === undefined) return { message, position: undefined };
  const position = Math.max(0, Number(digits) - firstOffset);
  return { message: message.replace(found, `at position ${position}`), position };
}
