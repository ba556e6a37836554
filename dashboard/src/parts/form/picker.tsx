import { Combobox } from '../combobox.tsx';
import { errorAttributes, LabelledField } from '../labelled-field.tsx';
import { Radios, Segments } from '../radio-list.tsx';
import type { Choice } from './field.ts';

interface ChooserProps {
  readonly id: string;
  readonly label: string;
  readonly choices: readonly Choice[];
  readonly value: unknown;
  readonly error?: string | undefined;
  readonly onChange: (value: Choice['value']) => void;
}

/** Up to so many choices stand side by side. */
const radiosMax = 4;

/** Whether choices stand side by side, as several controls under one name. */
export function isFew(choices: readonly Choice[]): boolean {
  return choices.length <= radiosMax;
}

/** One of a few as radios, one of many by a combobox. */
export function Chooser({ id, label, choices, value, error, onChange }: ChooserProps) {
  if (isFew(choices)) {
    const List = choices.some(({ help }) => help !== undefined) ? Radios : Segments;
    return <List choices={choices} value={value} onChange={onChange} />;
  }
  return (
    <Combobox
      id={id}
      label={label}
      value={typeof value === 'number' || typeof value === 'string' ? String(value) : ''}
      choices={choices.map((choice) => ({ value: String(choice.value), label: choice.label }))}
      onChange={(next) => onChange(choices.find((choice) => String(choice.value) === next)?.value ?? next)}
      {...errorAttributes(id, error)}
    />
  );
}

/** The same under its name, outside of a form. */
export function Picker(props: ChooserProps) {
  const { id, label, choices, error } = props;
  return (
    <LabelledField id={id} label={label} isGroup={isFew(choices)} error={error}>
      <Chooser {...props} />
    </LabelledField>
  );
}
