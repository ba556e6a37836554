import History from 'lucide-react/icons/history';
import Search from 'lucide-react/icons/search';
import { useId, useState, type KeyboardEvent, type ReactNode, type RefObject } from 'react';
import type { Collection } from '../../api/client.ts';
import { isExpression } from '../../api/expressions.ts';
import { completeFilter } from '../../parts/complete-filter.ts';
import type { Completion, CompletionList } from '../../parts/editor/code-editor.ts';
import { writeText } from '../../parts/write-text.ts';

interface FilterInputProps {
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly input: RefObject<HTMLInputElement | null>;
  readonly text: string;
  readonly history: readonly string[];
  /** The id of what says that the filter is wrong. */
  readonly errorId: string | undefined;
  readonly onText: (text: string) => void;
  readonly onApply: (text: string) => void;
  readonly children: ReactNode;
}

/** Where the filter is typed, with what it can go on with below it. Tab takes the first of these, arrows go through them. */
export function FilterInput(props: FilterInputProps) {
  const { collection, input, text, errorId, onText, children } = props;
  const id = useId();
  const list = useChoices(props);
  const { completion, position } = list;
  const isOpen = completion.items.length > 0;
  return (
    <div className="filter-input">
      <Search size={14} aria-hidden />
      <input
        ref={input}
        className="input"
        data-filter
        data-expression={isExpression(text) ? '' : undefined}
        role="combobox"
        aria-label={`Filter ${collection.name}`}
        aria-invalid={errorId !== undefined}
        aria-describedby={errorId}
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && position !== undefined ? `${id}-${position}` : undefined}
        placeholder="A word, or an expression: price > 10 && created > '2026-01-01'"
        value={text}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => {
          onText(event.target.value);
          list.open(event.target.selectionStart ?? event.target.value.length);
        }}
        onFocus={() => text === '' && list.open(0)}
        onClick={(event) => list.open(event.currentTarget.selectionStart ?? 0)}
        onBlur={list.close}
        onKeyDown={list.press}
      />
      {children}
      {isOpen && (
        <div className="floating filter-choices" id={id} role="listbox" aria-label="Go on with">
          {text === '' && (
            <div className="menu-label" role="presentation">
              Filters before
            </div>
          )}
          {completion.items.map((choice, index) => (
            <div
              key={choice.text}
              id={`${id}-${index}`}
              className="menu-item"
              role="option"
              aria-selected={index === position}
              // Before the input loses the focus, which closes the list.
              onMouseDown={(event) => {
                event.preventDefault();
                list.take(choice);
              }}
            >
              {text === '' && <History size={13} aria-hidden />}
              <span className="cut mono">{choice.text}</span>
              <span className="menu-end">{choice.hint}</span>
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

const nothing: CompletionList = { from: 0, items: [] };

/** What can be taken at the caret, and what keys do with it. Without a list, or without a choice in it, Enter is for the filter. */
function useChoices({ collection, collections, input, text, history, onText, onApply }: FilterInputProps) {
  const [caret, setCaret] = useState<number>();
  const [position, setPosition] = useState<number>();
  const before = { from: 0, items: history.map((filter) => ({ text: filter, hint: '' })) };
  const completion =
    caret === undefined
      ? nothing
      : text === ''
        ? before
        : completeFilter(text.slice(0, caret), { collection, collections });
  const { from, items: choices } = completion;
  const open = (at: number): void => {
    setCaret(at);
    setPosition(undefined);
  };
  const close = (): void => setCaret(undefined);
  const take = (choice: Completion): void => {
    if (text === '') {
      onText(choice.text);
      onApply(choice.text);
      close();
      return;
    }
    // A path and a function go on, everything else is followed by a space.
    const taken = /[.(]$/.test(choice.text) ? choice.text : `${choice.text} `;
    const next = text.slice(0, from) + taken + text.slice(caret ?? text.length).trimStart();
    const end = from + taken.length;
    const write = (): void => {
      onText(next);
      open(end);
    };
    writeText(input.current, { write, start: end, end });
  };
  const press = (event: KeyboardEvent<HTMLInputElement>): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = position === undefined ? undefined : choices[position];
    if (step !== undefined && caret === undefined) open(event.currentTarget.selectionStart ?? text.length);
    else if (step !== undefined && choices.length > 0)
      setPosition(((position ?? (step > 0 ? -1 : 0)) + step + choices.length) % choices.length);
    else if (event.key === 'Enter' && chosen !== undefined) take(chosen);
    else if (event.key === 'Enter') {
      onApply(text.trim());
      close();
    } else if (event.key === 'Tab' && !event.shiftKey && text !== '' && choices[position ?? 0] !== undefined)
      take(choices[position ?? 0] ?? { text: '', hint: '' });
    else if (event.key === 'Escape' && caret !== undefined && choices.length > 0) close();
    else if (event.key === 'Escape' && text !== '') {
      onText('');
      onApply('');
    } else return;
    event.preventDefault();
  };
  return { completion, position, open, close, take, press };
}
