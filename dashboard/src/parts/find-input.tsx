interface FindInputProps {
  readonly label: string;
  readonly placeholder: string;
  readonly text: string;
  readonly onText: (text: string) => void;
}

/** What a list is searched for. The key `/` leads to it. */
export function FindInput({ label, placeholder, text, onText }: FindInputProps) {
  return (
    <input
      className="input data-find"
      data-filter
      aria-label={label}
      placeholder={placeholder}
      value={text}
      spellCheck={false}
      autoComplete="off"
      onChange={({ target }) => onText(target.value)}
    />
  );
}
