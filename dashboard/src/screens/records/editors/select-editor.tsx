import type { FieldOf } from '../../../api/collections.ts';
import { errorAttributes } from '../../../parts/labelled-field.tsx';

interface SelectEditorProps {
  readonly id: string;
  readonly field: FieldOf<'select'>;
  readonly value: unknown;
  readonly error: string | undefined;
  readonly onChange: (value: string | readonly string[]) => void;
}

/** One of several values from a list, or any of them as buttons that stay pressed. */
export function SelectEditor({ id, field, value, error, onChange }: SelectEditorProps) {
  if (field.maxSelect <= 1)
    return (
      <select
        id={id}
        className="input"
        value={typeof value === 'string' ? value : ''}
        onChange={(event) => onChange(event.target.value)}
        {...errorAttributes(id, error)}
      >
        <option value="">–</option>
        {field.values.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  const chosen = Array.isArray(value) ? value.map(String) : [];
  return (
    <div className="choices">
      {field.values.map((choice) => {
        const isChosen = chosen.includes(choice);
        return (
          <button
            key={choice}
            type="button"
            className="choice"
            aria-pressed={isChosen}
            onClick={() => onChange(isChosen ? chosen.filter((one) => one !== choice) : [...chosen, choice])}
          >
            {choice}
          </button>
        );
      })}
    </div>
  );
}
