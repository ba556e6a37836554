import Check from 'lucide-react/icons/check';
import ChevronsUpDown from 'lucide-react/icons/chevrons-up-down';
import { useId, useState, type ComponentProps, type KeyboardEvent } from 'react';
import { Popover } from './popover.tsx';

interface Choice {
  readonly value: string;
  readonly label: string;
}

interface ComboboxProps extends Pick<
  ComponentProps<'button'>,
  'id' | 'disabled' | 'aria-invalid' | 'aria-describedby'
> {
  readonly label: string;
  /** An empty text where nothing is chosen. */
  readonly value: string;
  readonly choices: readonly Choice[];
  /** What the empty value is called, where it can be chosen: `All endpoints`. */
  readonly none?: string;
  readonly onChange: (value: string) => void;
}

/** More are found by typing. */
const shownMax = 100;

/** One of many, found by a part of its name. Arrows move, Enter chooses, Esc leaves it as it was. */
export function Combobox({ label, value, choices, none, onChange, ...attributes }: ComboboxProps) {
  const name = choices.find((choice) => choice.value === value)?.label ?? (value || (none ?? 'Choose'));
  return (
    <Popover
      className="combobox-list"
      align="start"
      trigger={
        <button {...attributes} type="button" className="input combobox" aria-label={`${label}: ${name}`}>
          <span className="cut">{name}</span>
          <ChevronsUpDown size={13} aria-hidden />
        </button>
      }
    >
      {(close) => (
        <Finder
          label={label}
          value={value}
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
  readonly onChoose: (value: string) => void;
}

function Finder({ label, value, choices, onChoose }: FinderProps) {
  const id = useId();
  const [text, setText] = useState('');
  const wanted = text.trim().toLowerCase();
  const matches = choices.filter((choice) => choice.label.toLowerCase().includes(wanted));
  const shown = matches.slice(0, shownMax);
  const [active, setActive] = useState(() =>
    Math.max(
      0,
      shown.findIndex((choice) => choice.value === value),
    ),
  );
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined && event.key !== 'Enter') return;
    event.preventDefault();
    if (step !== undefined) {
      const next = Math.min(shown.length - 1, Math.max(0, active + step));
      setActive(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' });
      return;
    }
    const choice = shown[active];
    if (choice !== undefined) onChoose(choice.value);
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
        onChange={(event) => {
          setText(event.target.value);
          setActive(0);
        }}
      />
      <div id={id} role="listbox" aria-label={label} className="combobox-choices" tabIndex={-1}>
        {shown.map((choice, index) => (
          <div
            key={choice.value}
            id={`${id}-${index}`}
            role="option"
            className="menu-item"
            aria-selected={choice.value === value}
            data-highlighted={index === active ? '' : undefined}
            onPointerMove={() => setActive(index)}
            onClick={() => onChoose(choice.value)}
          >
            <span className="cut">{choice.label}</span>
            {choice.value === value && <Check className="menu-end" size={14} aria-hidden />}
          </div>
        ))}
      </div>
      {shown.length === 0 && <p className="menu-label">No results</p>}
      {matches.length > shown.length && (
        <p className="menu-label">{(matches.length - shown.length).toLocaleString()} more: keep typing</p>
      )}
    </>
  );
}
