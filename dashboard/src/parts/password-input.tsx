import Eye from 'lucide-react/icons/eye';
import EyeOff from 'lucide-react/icons/eye-off';
import { useState, type ComponentProps } from 'react';
import { IconButton } from './button.tsx';

/** A password, which can be shown to whoever types it. */
export function PasswordInput(props: Omit<ComponentProps<'input'>, 'type' | 'className'>) {
  const [isShown, setIsShown] = useState(false);
  const Icon = isShown ? EyeOff : Eye;
  return (
    <div className="input-group">
      <input {...props} type={isShown ? 'text' : 'password'} className="input" spellCheck={false} />
      <span className="input-end">
        <IconButton
          label={isShown ? 'Hide the password' : 'Show the password'}
          small
          onClick={() => setIsShown(!isShown)}
        >
          <Icon size={15} aria-hidden />
        </IconButton>
      </span>
    </div>
  );
}
