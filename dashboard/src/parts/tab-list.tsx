import { useRef, type KeyboardEvent, type ReactNode } from 'react';

interface TabListProps<Name extends string> {
  readonly label: string;
  readonly tabs: readonly { readonly name: Name; readonly label: ReactNode }[];
  readonly selected: Name;
  readonly onSelect: (name: Name) => void;
}

/** Views of the same thing, one at a time. One stop for Tab; the arrows go through them. */
export function TabList<Name extends string>({ label, tabs, selected, onSelect }: TabListProps<Name>) {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = tabs.findIndex(({ name }) => name === selected);
    const next = (at + step + tabs.length) % tabs.length;
    const tab = tabs[next];
    if (tab === undefined) return;
    onSelect(tab.name);
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus();
  };
  return (
    <div className="drawer-tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
      {tabs.map(({ name, label: text }) => (
        <button
          key={name}
          type="button"
          role="tab"
          className="tab"
          aria-selected={name === selected}
          tabIndex={name === selected ? 0 : -1}
          onClick={() => onSelect(name)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
