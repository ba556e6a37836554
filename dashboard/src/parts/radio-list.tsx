import { useId } from 'react';

interface RadioListProps<Value extends string> {
  readonly label: string;
  readonly choices: readonly { readonly value: Value; readonly label: string; readonly help: string }[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}

/** A few choices of which one holds, each with what it means. */
export function RadioList<Value extends string>({ label, choices, value, onChange }: RadioListProps<Value>) {
  const id = useId();
  return (
    <fieldset className="radio-list">
      <legend className="field-label">{label}</legend>
      {choices.map((choice) => (
        <div key={choice.value} className="radio">
          <input
            id={`${id}-${choice.value}`}
            type="radio"
            name={id}
            checked={choice.value === value}
            aria-describedby={`${id}-${choice.value}-help`}
            onChange={() => onChange(choice.value)}
          />
          <div>
            <label htmlFor={`${id}-${choice.value}`}>{choice.label}</label>
            <p className="soft" id={`${id}-${choice.value}-help`}>
              {choice.help}
            </p>
          </div>
        </div>
      ))}
    </fieldset>
  );
}
