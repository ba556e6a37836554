import { Editor } from '../../../parts/editor/editor.tsx';

interface JsonEditorProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
}

/** JSON as text. Laid out when one leaves it, where it is JSON; anything else stays as it was typed. */
export function JsonEditor(props: JsonEditorProps) {
  const { value, onChange } = props;
  return (
    <Editor
      {...props}
      language="json"
      lines={3}
      onBlur={() => {
        const tidied = layOut(value);
        if (tidied !== value) onChange(tidied);
      }}
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
