import Eye from 'lucide-react/icons/eye';
import EyeOff from 'lucide-react/icons/eye-off';
import { type ComponentProps, type KeyboardEvent, useState } from 'react';
import { IconButton } from './button.tsx';
import { errorAttributes, LabelledField } from './labelled-field.tsx';

type PasswordInputProps = Omit<ComponentProps<'input'>, 'type' | 'className'>;

/** A password, which can be shown to whoever types it. */
export function PasswordInput(props: PasswordInputProps) {
  const [isShown, setIsShown] = useState(false);
  return (
    <div className="input-group">
      <input {...props} type={isShown ? 'text' : 'password'} className="input" spellCheck={false} />
      <span className="input-end">
        <ShowButton isShown={isShown} onChange={setIsShown} />
      </span>
    </div>
  );
}

interface PasswordFieldProps extends Omit<PasswordInputProps, 'onChange'> {
  readonly id: string;
  readonly label: string;
  readonly error?: string | undefined;
  readonly onText: (text: string) => void;
}

/** The same under its name. */
export function PasswordField({ label, error, onText, ...input }: PasswordFieldProps) {
  const { id } = input;
  return (
    <LabelledField id={id} label={label} error={error}>
      <PasswordInput
        {...input}
        onChange={({ target }) => onText(target.value)}
        {...errorAttributes(id, error)}
      />
    </LabelledField>
  );
}

interface ShowButtonProps {
  readonly isShown: boolean;
  readonly onChange: (isShown: boolean) => void;
}

/** Enter sends the form from here as well: whoever goes through one by keys must not show a password to others by it. Space shows it. */
function ShowButton({ isShown, onChange }: ShowButtonProps) {
  const Icon = isShown ? EyeOff : Eye;
  return (
    <IconButton
      icon={Icon}
      label={isShown ? 'Hide password' : 'Show password'}
      small
      onClick={() => onChange(!isShown)}
      onKeyDown={(event: KeyboardEvent<HTMLButtonElement>) => {
        if (event.key !== 'Enter') return;
        event.preventDefault();
        event.currentTarget.form?.requestSubmit();
      }}
    />
  );
}

export interface PasswordPair {
  readonly password: string;
  readonly passwordConfirm: string;
}

interface NewPasswordProps {
  readonly label: string;
  readonly help?: string;
  readonly value: PasswordPair;
  /** What is wrong with each, by its name. */
  readonly errors: ReadonlyMap<string, string>;
  readonly autoFocus?: boolean;
  readonly onChange: (value: PasswordPair) => void;
}

/** A new password, twice. The button that shows both comes after them, so that Tab leads from one to the other. */
export function NewPassword({ label, help, value, errors, autoFocus, onChange }: NewPasswordProps) {
  const [isShown, setIsShown] = useState(false);
  const inputProps = (name: keyof PasswordPair): ComponentProps<'input'> => ({
    id: name,
    name,
    type: isShown ? 'text' : 'password',
    className: 'input',
    required: true,
    spellCheck: false,
    autoComplete: 'new-password',
    value: value[name],
    onChange: (event) => onChange({ ...value, [name]: event.target.value }),
    ...errorAttributes(name, errors.get(name)),
  });
  return (
    <>
      <LabelledField id="password" label={label} help={help} error={errors.get('password')}>
        <input aria-describedby="password-help" {...inputProps('password')} autoFocus={autoFocus} />
      </LabelledField>
      <LabelledField id="passwordConfirm" label="Confirm password" error={errors.get('passwordConfirm')}>
        <div className="input-group">
          <input {...inputProps('passwordConfirm')} />
          <span className="input-end">
            <ShowButton isShown={isShown} onChange={setIsShown} />
          </span>
        </div>
      </LabelledField>
    </>
  );
}
