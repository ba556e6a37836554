import { useId, useRef, useState, type KeyboardEvent } from 'react';
import type { Collection } from '../../api/client.ts';
import { errorAttributes } from '../../parts/labelled-field.tsx';
import { writeText } from '../../parts/write-text.ts';
import { completeRule, type CompletionList } from './rule-completion.ts';

interface RuleInputProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly collection: Collection;
  readonly collections: readonly Collection[];
  readonly error: string | undefined;
  readonly onChange: (text: string) => void;
}

const closed: CompletionList = { from: 0, items: [] };

/** The expression of a rule. While one types it offers names: arrows choose, Enter or Tab takes, Esc closes. */
export function RuleInput({ id, label, value, collection, collections, error, onChange }: RuleInputProps) {
  const input = useRef<HTMLTextAreaElement>(null);
  const listId = useId();
  const [list, setList] = useState(closed);
  const [position, setPosition] = useState(0);
  const current = list.items[position];
  const offer = (text: string, caret: number): void => {
    setList(completeRule(text, caret, { collection, collections }));
    setPosition(0);
  };
  const take = (text: string): void => {
    const caret = input.current?.selectionEnd ?? value.length;
    const next = value.slice(0, list.from) + text + value.slice(caret);
    const end = list.from + text.length;
    const write = (): void => {
      onChange(next);
      setList(closed);
      // A name with more below it goes on at once.
      if (text.endsWith('.')) offer(next, end);
    };
    writeText(input.current, { write, start: end, end });
  };
  const press = (event: KeyboardEvent): void => {
    if (current === undefined) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setPosition((position + step + list.items.length) % list.items.length);
    else if (event.key === 'Enter' || event.key === 'Tab') take(current.text);
    else if (event.key === 'Escape') setList(closed);
    else return;
    event.preventDefault();
  };
  return (
    <div className="rule-input">
      <textarea
        ref={input}
        id={id}
        className="input mono"
        rows={1}
        aria-label={label}
        aria-autocomplete="list"
        aria-controls={current === undefined ? undefined : listId}
        aria-activedescendant={current === undefined ? undefined : `${listId}-${position}`}
        placeholder={`author = @request.auth.id && status != 'closed'`}
        value={value}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => {
          onChange(event.target.value);
          offer(event.target.value, event.target.selectionEnd);
        }}
        onKeyDown={press}
        onBlur={() => setList(closed)}
        {...errorAttributes(id, error)}
      />
      {list.items.length > 0 && <CompletionMenu id={listId} list={list} position={position} onTake={take} />}
    </div>
  );
}

interface CompletionMenuProps {
  readonly id: string;
  readonly list: CompletionList;
  readonly position: number;
  readonly onTake: (text: string) => void;
}

function CompletionMenu({ id, list, position, onTake }: CompletionMenuProps) {
  return (
    <div className="rule-list floating" id={id} role="listbox" aria-label="Names">
      {list.items.map(({ text, hint }, index) => (
        <div
          key={text}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === position}
          className="menu-item"
          // The focus stays in the text, which hears the keys.
          onPointerDown={(event) => {
            event.preventDefault();
            onTake(text);
          }}
        >
          <span className="mono">{text}</span>
          <span className="menu-end">{hint}</span>
        </div>
      ))}
    </div>
  );
}
