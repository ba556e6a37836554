import type { ComponentProps } from 'react';
import { errorAttributes } from '../../../parts/labelled-field.tsx';

interface TextEditorProps {
  readonly id: string;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'email' | 'url';
  readonly inputMode?: ComponentProps<'input'>['inputMode'];
  readonly placeholder?: string;
  /** Grows with its lines. */
  readonly isLong?: boolean;
  readonly isMono?: boolean;
  readonly isReadOnly?: boolean;
}

export function TextEditor({
  id,
  value,
  error,
  onChange,
  type = 'text',
  inputMode,
  placeholder,
  ...look
}: TextEditorProps) {
  const { isLong = false, isMono = false, isReadOnly = false } = look;
  const common = {
    id,
    value,
    placeholder,
    readOnly: isReadOnly,
    className: isMono ? 'input mono' : 'input',
    autoComplete: 'off',
    // Names, addresses and code: what is marked there is hardly ever wrong.
    spellCheck: isLong && !isMono,
    onChange: (event: { readonly target: { readonly value: string } }) => onChange(event.target.value),
    ...errorAttributes(id, error),
  };
  return isLong ? (
    <textarea {...common} rows={isMono ? 4 : 1} />
  ) : (
    <input {...common} type={type} inputMode={inputMode} />
  );
}
