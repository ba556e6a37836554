import { errorAttributes } from '../../../parts/labelled-field.tsx';

interface JsonEditorProps {
  readonly id: string;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
}

/** JSON as text. Laid out when one leaves it, where it is JSON; anything else stays as it was typed. */
export function JsonEditor({ id, value, error, onChange }: JsonEditorProps) {
  return (
    <textarea
      id={id}
      className="input mono"
      rows={3}
      value={value}
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
      onBlur={() => {
        const tidied = layOut(value);
        if (tidied !== value) onChange(tidied);
      }}
      {...errorAttributes(id, error)}
    />
  );
}

function layOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
