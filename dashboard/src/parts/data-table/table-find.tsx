interface TableFindProps {
  readonly label: string;
  readonly placeholder: string;
  readonly find: string;
  readonly onFind: (find: string) => void;
}

/** Narrows rows that are all there while one types. */
export function TableFind({ label, placeholder, find, onFind }: TableFindProps) {
  return (
    <search>
      <input
        className="input data-find"
        data-filter
        aria-label={label}
        placeholder={placeholder}
        value={find}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => onFind(event.target.value)}
      />
    </search>
  );
}

/** Whether one of the texts has what is looked for. */
export function hasText(find: string, texts: readonly string[]): boolean {
  return texts.join('\n').toLowerCase().includes(find.trim().toLowerCase());
}
