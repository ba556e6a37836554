import Check from 'lucide-react/icons/check';
import ChevronsUpDown from 'lucide-react/icons/chevrons-up-down';
import { useId, useState, type ComponentProps, type KeyboardEvent } from 'react';
import { Popover } from './popover.tsx';

interface Choice {
  readonly value: string;
  readonly label: string;
  /** Beside the label, as its id. */
  readonly note?: string;
}

interface ComboboxProps extends Pick<
  ComponentProps<'button'>,
  'id' | 'disabled' | 'autoFocus' | 'aria-invalid' | 'aria-describedby'
> {
  readonly label: string;
  /** An empty text where nothing is chosen. */
  readonly value: string;
  readonly choices: readonly Choice[];
  /** What the empty value is called, where it can be chosen: `All endpoints`. */
  readonly none?: string;
  /** Finds the choices for a text, as those of a server; they are filtered by their labels where this is left out. */
  readonly onText?: (text: string) => void;
  readonly onChange: (value: string) => void;
}

/** More are found by typing. */
const shownMax = 100;

/** One of many, found by a part of its name. A letter or an arrow opens the list; arrows move, Enter chooses, Esc leaves it as it was. */
export function Combobox(props: ComboboxProps) {
  const { label, value, choices, none, onText, onChange, ...attributes } = props;
  const [typed, setTyped] = useState('');
  const name = choices.find((choice) => choice.value === value)?.label ?? (value || (none ?? 'Choose'));
  const begin = (text: string): void => {
    setTyped(text);
    onText?.(text);
  };
  return (
    <Popover
      className="combobox-list"
      align="start"
      trigger={
        <button
          {...attributes}
          type="button"
          className="input combobox"
          aria-label={`${label}: ${name}`}
          onPointerDown={() => begin('')}
          onKeyDown={(event) => {
            const isLetter = /^\S$/u.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey;
            begin(isLetter ? event.key : '');
            if (!isLetter && event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
            event.preventDefault();
            event.currentTarget.click();
          }}
        >
          <span className="cut">{name}</span>
          <ChevronsUpDown size={13} aria-hidden />
        </button>
      }
    >
      {(close) => (
        <Finder
          label={label}
          value={value}
          typed={typed}
          {...(onText !== undefined && { onText })}
          choices={none === undefined ? choices : [{ value: '', label: none }, ...choices]}
          onChoose={(next) => {
            close();
            if (next !== value) onChange(next);
          }}
        />
      )}
    </Popover>
  );
}

interface FinderProps {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly Choice[];
  /** The text it begins with. */
  readonly typed?: string;
  /** Finds the choices for a text; they are filtered by their labels where this is left out. */
  readonly onText?: (text: string) => void;
  readonly onChoose: (value: string) => void;
}

/** The list of a combobox, with the input that searches it. */
export function Finder({ label, value, choices, typed = '', onText, onChoose }: FinderProps) {
  const id = useId();
  const [text, setText] = useState(typed);
  const wanted = onText === undefined ? text.trim().toLowerCase() : '';
  const matches = choices.filter((choice) => choice.label.toLowerCase().includes(wanted));
  const shown = matches.slice(0, shownMax);
  const chosen = shown.findIndex((choice) => choice.value === value);
  const [active, setActive] = useState(Math.max(0, chosen));
  const search = (next: string): void => {
    setText(next);
    setActive(0);
    onText?.(next);
  };
  const choose = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    onChoose(choice.value);
    // It may stay open for the next one.
    search('');
  };
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined && (event.key !== 'Enter' || event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (step !== undefined) {
      const next = Math.min(shown.length - 1, Math.max(0, active + step));
      setActive(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' });
      return;
    }
    choose(shown[active]);
  };
  return (
    <>
      <input
        className="input"
        role="combobox"
        aria-label={`Find in ${label}`}
        aria-expanded
        aria-controls={id}
        aria-activedescendant={shown.length > 0 ? `${id}-${active}` : undefined}
        placeholder="Find"
        value={text}
        spellCheck={false}
        autoComplete="off"
        onKeyDown={move}
        onChange={(event) => search(event.target.value)}
      />
      <div id={id} role="listbox" aria-label={label} className="combobox-choices" tabIndex={-1}>
        {shown.map((choice, index) => (
          <Option
            key={choice.value}
            id={`${id}-${index}`}
            choice={choice}
            isChosen={choice.value === value}
            isActive={index === active}
            onPointerMove={() => setActive(index)}
            onClick={() => choose(choice)}
          />
        ))}
      </div>
      {shown.length === 0 && <p className="menu-label">No results</p>}
      {matches.length > shown.length && (
        <p className="menu-label">{(matches.length - shown.length).toLocaleString()} more: keep typing</p>
      )}
    </>
  );
}

interface OptionProps extends Pick<ComponentProps<'div'>, 'id' | 'onPointerMove' | 'onClick'> {
  readonly choice: Choice;
  readonly isChosen: boolean;
  readonly isActive: boolean;
}

function Option({ choice: { label, note }, isChosen, isActive, ...props }: OptionProps) {
  return (
    <div
      {...props}
      role="option"
      className="menu-item"
      aria-selected={isChosen}
      data-highlighted={isActive ? '' : undefined}
    >
      <span className="cut">{label}</span>
      {note !== undefined && <span className="menu-end mono">{note}</span>}
      {isChosen && <Check className="menu-end" size={14} aria-hidden />}
    </div>
  );
}
