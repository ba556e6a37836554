import X from 'lucide-react/icons/x';
import { Combobox } from '../combobox.tsx';
import type { Choice, ControlProps, SetField } from './field.ts';

/** More are added one by one, found by their names. */
const chipsMax = 20;

interface SetControlProps extends Pick<ControlProps, 'id' | 'input' | 'onChange'> {
  readonly field: SetField;
}

/** Any of some choices: each a button, or a box where it says more. Choices that are of another field of the same path stay. */
export function SetControl({ id, field, input, onChange }: SetControlProps) {
  const chosen: readonly unknown[] = Array.isArray(input) ? input : [];
  const toggle = (value: Choice['value']): void =>
    onChange(chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value]);
  const { choices, all } = field;
  if (choices.length > chipsMax) return <LongSet {...{ id, field, chosen, toggle }} />;
  if (choices.some(({ help }) => help !== undefined))
    return (
      <div className="settings-boxes">
        {choices.map((choice) => (
          <Box key={choice.value} choice={choice} isOn={chosen.includes(choice.value)} onToggle={toggle} />
        ))}
      </div>
    );
  return (
    <div className="choices">
      {all !== undefined && (
        <button
          type="button"
          className="choice"
          aria-pressed={chosen.length === 0}
          onClick={() => onChange([])}
        >
          {all}
        </button>
      )}
      {choices.map(({ value, label }) => (
        <button
          key={value}
          type="button"
          className="choice"
          title={label === value ? undefined : String(value)}
          aria-pressed={chosen.includes(value)}
          onClick={() => toggle(value)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

interface BoxProps {
  readonly choice: Choice;
  readonly isOn: boolean;
  readonly onToggle: (value: Choice['value']) => void;
}

function Box({ choice: { value, label, help }, isOn, onToggle }: BoxProps) {
  return (
    <label className="settings-box" aria-label={help === undefined ? label : `${label}: ${help}`}>
      <input type="checkbox" checked={isOn} onChange={() => onToggle(value)} />
      <span>
        <span className={label === value ? 'mono' : 'cut'}>{label}</span>
        {help !== undefined && <span className="soft cut">{help}</span>}
      </span>
    </label>
  );
}

interface LongSetProps {
  readonly id: string;
  readonly field: SetField;
  readonly chosen: readonly unknown[];
  readonly toggle: (value: Choice['value']) => void;
}

/** Of many choices only the chosen ones show. */
function LongSet({ id, field: { label, choices, all }, chosen, toggle }: LongSetProps) {
  const others = choices.filter(({ value }) => !chosen.includes(value));
  return (
    <>
      {chosen.length > 0 && (
        <div className="choices">
          {choices
            .filter(({ value }) => chosen.includes(value))
            .map(({ value, label: name }) => (
              <button key={value} type="button" className="choice" aria-pressed onClick={() => toggle(value)}>
                {name}
                <X size={12} aria-hidden />
              </button>
            ))}
        </div>
      )}
      <Combobox
        id={id}
        label={label}
        value=""
        none={chosen.length === 0 ? (all ?? 'None') : 'Add …'}
        choices={others.map(({ value, label: name }) => ({ value: String(value), label: name }))}
        onChange={(next) => toggle(others.find(({ value }) => String(value) === next)?.value ?? next)}
      />
    </>
  );
}
