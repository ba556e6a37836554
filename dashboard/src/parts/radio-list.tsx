import { useId } from 'react';

interface RadiosProps<Value extends string | number> {
  readonly choices: readonly { readonly value: Value; readonly label: string; readonly help?: string }[];
  /** One of the choices, or nothing yet. */
  readonly value: unknown;
  readonly onChange: (value: Value) => void;
  /** What they are called together, outside of a form. */
  readonly label?: string;
}

/** A few choices of which one holds, each with what it means. */
export function Radios<Value extends string | number>({ choices, value, onChange }: RadiosProps<Value>) {
  const id = useId();
  return (
    <div className="radio-list">
      {choices.map((choice) => (
        <div key={choice.value} className="radio">
          <input
            id={`${id}-${choice.value}`}
            type="radio"
            name={id}
            checked={choice.value === value}
            aria-describedby={choice.help === undefined ? undefined : `${id}-${choice.value}-help`}
            onChange={() => onChange(choice.value)}
          />
          <div>
            <label htmlFor={`${id}-${choice.value}`}>{choice.label}</label>
            {choice.help !== undefined && (
              <p className="soft" id={`${id}-${choice.value}-help`}>
                {choice.help}
              </p>
            )}
          </div>
        </div>
      ))}
    </div>
  );
}

/** The same in one line, where the names say it all. */
export function Segments<Value extends string | number>(props: RadiosProps<Value>) {
  const { choices, value, onChange, label } = props;
  const id = useId();
  return (
    <div
      className="segments segments-radios"
      {...(label !== undefined && { role: 'radiogroup', 'aria-label': label })}
    >
      {choices.map((choice) => (
        <label key={choice.value}>
          <input
            type="radio"
            name={id}
            checked={choice.value === value}
            onChange={() => onChange(choice.value)}
          />
          {choice.label}
        </label>
      ))}
    </div>
  );
}

/** Choices under their name, outside of a form. */
export function RadioList<Value extends string | number>({
  label,
  ...props
}: RadiosProps<Value> & { readonly label: string }) {
  return (
    <fieldset className="radio-list">
      <legend className="field-label">{label}</legend>
      <Radios {...props} />
    </fieldset>
  );
}
