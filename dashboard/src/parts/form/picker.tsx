import { Combobox } from '../combobox.tsx';
import { errorAttributes, LabelledField } from '../labelled-field.tsx';
import { Radios, Segments } from '../radio-list.tsx';
import type { Choice, ChoiceField } from './field.ts';

interface ChooserProps<Value extends Choice['value']> {
  readonly id: string;
  readonly label: string;
  readonly choices: readonly (Choice & { readonly value: Value })[];
  readonly isSearched?: boolean;
  readonly isLocked?: boolean;
  readonly value: unknown;
  readonly error?: string | undefined;
  readonly onChange: (value: Value) => void;
}

/** Up to so many choices stand side by side. */
const radiosMax = 4;

/** Whether choices stand side by side, as several controls under one name. */
export function isFew({ choices, isSearched }: Pick<ChoiceField, 'choices' | 'isSearched'>): boolean {
  return choices.length <= radiosMax && isSearched !== true;
}

/** One of a few as radios, one of many by a combobox. */
export function Chooser<Value extends Choice['value']>(props: ChooserProps<Value>) {
  const { id, label, choices, isLocked, value, error, onChange } = props;
  if (isFew(props)) {
    const List = choices.some(({ help }) => help !== undefined) ? Radios : Segments;
    return <List choices={choices} value={value} onChange={onChange} />;
  }
  return (
    <Combobox
      id={id}
      label={label}
      disabled={isLocked}
      value={typeof value === 'number' || typeof value === 'string' ? String(value) : ''}
      choices={choices.map((choice) => ({ value: String(choice.value), label: choice.label }))}
      onChange={(next) => {
        const choice = choices.find((one) => String(one.value) === next);
        if (choice !== undefined) onChange(choice.value);
      }}
      {...errorAttributes(id, error)}
    />
  );
}

/** The same under its name, outside of a form. */
export function Picker<Value extends Choice['value']>(props: ChooserProps<Value>) {
  const { id, label, error } = props;
  return (
    <LabelledField id={id} label={label} isGroup={isFew(props)} error={error}>
      <Chooser {...props} />
    </LabelledField>
  );
}
