import { useId, useState, type ReactNode } from 'react';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';

interface OptionProps<Value> {
  readonly label: string;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly help?: string | undefined;
  readonly error?: string | undefined;
}

export function FlagOption({
  label,
  value,
  onChange,
  help,
  error,
  isDisabled,
}: OptionProps<boolean> & { readonly isDisabled?: boolean }) {
  const id = useId();
  return (
    <div className="flag">
      <label className="switch">
        <input
          id={id}
          type="checkbox"
          checked={value}
          disabled={isDisabled}
          onChange={(event) => onChange(event.target.checked)}
          {...errorAttributes(id, error)}
        />
        {label}
      </label>
      {help !== undefined && <p className="field-help">{help}</p>}
      {error !== undefined && (
        <p className="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

/** A number; empty stands for `none`, which is 0 where the service counts from it. */
export function NumberOption<None extends number | null>({
  label,
  value,
  onChange,
  none,
  help,
  error,
  isWhole = true,
}: OptionProps<number | None> & { readonly none: None; readonly isWhole?: boolean }) {
  const id = useId();
  return (
    <LabelledField id={id} label={label} help={help} error={error}>
      <input
        id={id}
        className="input"
        type="number"
        inputMode={isWhole ? 'numeric' : 'decimal'}
        min={isWhole ? 0 : undefined}
        step={isWhole ? 1 : 'any'}
        value={value === none || value === null ? '' : String(value)}
        placeholder="None"
        onChange={(event) => onChange(event.target.value === '' ? none : Number(event.target.value))}
        {...errorAttributes(id, error)}
      />
    </LabelledField>
  );
}

export function TextOption({
  label,
  value,
  onChange,
  help,
  error,
  placeholder,
  isLong,
  isMono,
}: OptionProps<string> & {
  readonly placeholder?: string;
  readonly isLong?: boolean;
  readonly isMono?: boolean;
}) {
  const id = useId();
  const Control = isLong === true ? 'textarea' : 'input';
  return (
    <LabelledField id={id} label={label} help={help} error={error}>
      <Control
        id={id}
        className={isMono === true ? 'input mono' : 'input'}
        value={value}
        placeholder={placeholder}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => onChange(event.target.value)}
        {...errorAttributes(id, error)}
      />
    </LabelledField>
  );
}

/** Several texts, one per line. */
export function TextsOption({
  label,
  value,
  onChange,
  help,
  error,
  placeholder,
}: OptionProps<readonly string[]> & { readonly placeholder?: string }) {
  const id = useId();
  // What is typed holds more than the value: the line that is still empty.
  const [typed, setTyped] = useState(value.join('\n'));
  const shown = sameTexts(linesOf(typed), value) ? typed : value.join('\n');
  return (
    <LabelledField id={id} label={label} help={help} error={error}>
      <textarea
        id={id}
        className="input"
        rows={2}
        value={shown}
        placeholder={placeholder}
        spellCheck={false}
        onChange={(event) => {
          setTyped(event.target.value);
          onChange(linesOf(event.target.value));
        }}
        {...errorAttributes(id, error)}
      />
    </LabelledField>
  );
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function sameTexts(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: ReactNode;
}

/** One of a few, all in sight. */
export function Segments<Value extends string>({
  label,
  value,
  choices,
  onChange,
}: {
  readonly label: string;
  readonly value: Value;
  readonly choices: readonly Choice<Value>[];
  readonly onChange: (value: Value) => void;
}) {
  return (
    <div className="segments" role="radiogroup" aria-label={label}>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          role="radio"
          aria-checked={choice.value === value}
          onClick={() => onChange(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </div>
  );
}
