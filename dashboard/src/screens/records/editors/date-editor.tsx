import { Button } from '../../../parts/button.tsx';
import { errorAttributes } from '../../../parts/labelled-field.tsx';
import { localTime, parseTime } from '../../../parts/time.tsx';

interface DateEditorProps {
  readonly id: string;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
}

/** A moment in the time zone of the reader. What is sent is UTC, which the head of the field shows. */
export function DateEditor({ id, value, error, onChange }: DateEditorProps) {
  const date = parseTime(value);
  return (
    <div className="input-group">
      <input
        id={id}
        type="datetime-local"
        step={1}
        className="input"
        value={date === undefined ? '' : localTime(date)}
        onChange={(event) => onChange(event.target.value === '' ? '' : apiTime(new Date(event.target.value)))}
        {...errorAttributes(id, error)}
      />
      <Button onClick={() => onChange(apiTime(new Date()))}>Now</Button>
    </div>
  );
}

export function utcHint(value: unknown): string | undefined {
  const date = typeof value === 'string' ? parseTime(value) : undefined;
  return date === undefined ? undefined : `${apiTime(date).slice(0, 19)} UTC`;
}

/** As the API writes it: `2026-11-25 23:54:55.123Z`. */
function apiTime(date: Date): string {
  return date.toISOString().replace('T', ' ');
}
