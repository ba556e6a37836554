import CircleAlert from 'lucide-react/icons/circle-alert';
import { useId, type ComponentProps, type ReactNode } from 'react';

interface LabelledFieldProps {
  /** The id of the control. Its error and its help have the same id with an ending, for `aria-describedby`. */
  readonly id: string;
  readonly label: ReactNode;
  readonly children: ReactNode;
  readonly isRequired?: boolean;
  readonly aside?: ReactNode;
  readonly help?: string | undefined;
  readonly error?: string | undefined;
  /** The control is several ones, which the label names together. */
  readonly isGroup?: boolean;
}

/** A control with its name above it, and what is wrong with it below. */
export function LabelledField(props: LabelledFieldProps) {
  const { id, label, children, isRequired, aside, help, error, isGroup } = props;
  const Label = isGroup === true ? 'span' : 'label';
  return (
    <div
      className="field"
      role={isGroup === true ? 'group' : undefined}
      aria-labelledby={isGroup === true ? `${id}-label` : undefined}
    >
      <div className="field-head">
        <Label className="field-label" id={`${id}-label`} htmlFor={isGroup === true ? undefined : id}>
          {label}
          {isRequired === true && (
            <span className="field-required" aria-hidden>
              *
            </span>
          )}
        </Label>
        {aside !== undefined && <span className="field-aside">{aside}</span>}
      </div>
      {children}
      {help !== undefined && help !== '' && (
        <p className="field-help" id={`${id}-help`}>
          {help}
        </p>
      )}
      {error !== undefined && (
        <p className="field-error" id={`${id}-error`} role="alert">
          <CircleAlert size={13} aria-hidden />
          {error}
        </p>
      )}
    </div>
  );
}

/** What a control says of its error to those who hear it. */
export function errorAttributes(id: string, error: string | undefined) {
  return error === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': `${id}-error` };
}

interface InputFieldProps
  extends
    Omit<ComponentProps<'input'>, 'onChange' | 'className' | 'id'>,
    Pick<LabelledFieldProps, 'label' | 'aside' | 'help' | 'error'> {
  readonly id?: string;
  readonly isMono?: boolean;
  readonly onText?: (text: string) => void;
}

/** A text on one line under its name. */
export function InputField({ label, aside, help, error, isMono = false, onText, ...input }: InputFieldProps) {
  const ownId = useId();
  const id = input.id ?? ownId;
  return (
    <LabelledField {...{ id, label, aside, help, error }}>
      <input
        spellCheck={false}
        autoComplete="off"
        {...input}
        id={id}
        className={isMono ? 'input mono' : 'input'}
        onChange={({ target }) => onText?.(target.value)}
        {...errorAttributes(id, error)}
      />
    </LabelledField>
  );
}
