import type { ComponentProps } from 'react';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';

interface TextFieldProps extends Pick<ComponentProps<'input'>, 'type' | 'placeholder' | 'autoFocus'> {
  readonly id: string;
  readonly label: string;
  readonly aside?: string;
  readonly help?: string;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
}

/** A text with its name above and what is wrong with it below. */
export function TextField({ id, label, aside, help, error, onChange, ...props }: TextFieldProps) {
  return (
    <LabelledField id={id} label={label} aside={aside} help={help} error={error}>
      <input
        autoComplete="off"
        spellCheck={false}
        {...props}
        id={id}
        className="input"
        onChange={(event) => onChange(event.target.value)}
        {...errorAttributes(id, error)}
      />
    </LabelledField>
  );
}
