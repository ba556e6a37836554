import { useRef, type ChangeEvent, type ComponentProps } from 'react';
import { Button } from '../button.tsx';
import { FileInput } from '../file-input.tsx';
import { errorAttributes } from '../labelled-field.tsx';
import { PasswordInput } from '../password-input.tsx';
import { once } from './codec.ts';
import type { ControlProps, Field, SecretField } from './field.ts';

interface TextControlProps extends ControlProps {
  readonly text: string;
  readonly field: Field;
}

/** What is typed, on one line or several. */
export function TextControl({ id, text, field, error, onChange }: TextControlProps) {
  const rows = rowsOf(field);
  const isOnce = field.kind === 'delays' && text === once;
  const common = {
    id,
    className: isMono(field) ? 'input mono' : 'input',
    value: isOnce ? '' : text,
    disabled: isOnce || field.isLocked === true,
    placeholder: field.placeholder,
    autoFocus: field.hasFocus,
    spellCheck: false,
    autoComplete: 'off',
    onChange: ({ target }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => onChange(target.value),
    ...errorAttributes(id, error),
  };
  if (rows === undefined) return <input {...common} {...lineAttributes(field)} />;
  const accept = field.kind === 'text' ? field.accept : undefined;
  return (
    <>
      <textarea {...common} rows={rows} />
      {accept !== undefined && <FileButton label={field.label} accept={accept} onText={onChange} />}
    </>
  );
}

function rowsOf(field: Field): number | undefined {
  if (field.kind === 'pairs') return field.rows ?? 2;
  if (field.kind === 'list') return field.isInline === true ? undefined : 3;
  return field.kind === 'text' ? field.rows : undefined;
}

function isMono(field: Field): boolean {
  return field.kind === 'pairs' || field.kind === 'list' || (field.kind === 'text' && field.isMono === true);
}

function lineAttributes(field: Field): ComponentProps<'input'> {
  switch (field.kind) {
    case 'number':
      return { inputMode: field.isDecimal === true ? 'decimal' : 'numeric' };
    case 'date':
      return { type: 'datetime-local' };
    case 'text':
      return {
        ...(field.type !== undefined && { type: field.type }),
        ...(field.lengthMax !== undefined && { maxLength: field.lengthMax }),
      };
    default:
      return {};
  }
}

interface SecretControlProps extends ControlProps {
  readonly text: string;
  readonly field: SecretField;
}

/** A secret, which goes to the service and never comes back. */
export function SecretControl({ id, text, field, error, form, input, onChange }: SecretControlProps) {
  const { path, rows, accept, label, placeholder } = field;
  const isRemoved = input === '' && form.changed.some((one) => one.path === path);
  const isStored = field.isStored === true || (form.saved(field) ?? '') !== '';
  const change = (next: string): void => {
    if (next === '') form.undo(path);
    else onChange(next);
  };
  const common = {
    id,
    value: text,
    autoFocus: field.hasFocus,
    placeholder: isStored && !isRemoved ? 'Unchanged' : placeholder,
    ...errorAttributes(id, error),
  };
  return (
    <>
      {rows === undefined ? (
        <PasswordInput
          {...common}
          autoComplete="new-password"
          onChange={({ target }) => change(target.value)}
        />
      ) : (
        <textarea
          {...common}
          className="input mono"
          rows={rows}
          spellCheck={false}
          autoComplete="off"
          onChange={({ target }) => change(target.value)}
        />
      )}
      {accept !== undefined && <FileButton label={label} accept={accept} onText={change} />}
      {isRemoved && <p className="field-help">It is removed when you save.</p>}
    </>
  );
}

const fileBytesMax = 256 * 1024;

interface FileButtonProps {
  readonly label: string;
  readonly accept: string;
  readonly onText: (text: string) => void;
}

/** Reads a text from a file of this machine. */
function FileButton({ label, accept, onText }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div>
      <Button tone="quiet" onClick={() => input.current?.click()}>
        Choose a file …
      </Button>
      <FileInput
        ref={input}
        tabIndex={-1}
        aria-label={`File: ${label}`}
        accept={accept}
        // The service says what is wrong with a text; a file that can be none is not read whole.
        onFiles={([file]) => void file.slice(0, fileBytesMax).text().then(onText)}
      />
    </div>
  );
}

const noColor = '#1055c9';

/** A colour, typed or chosen. */
export function ColorControl(props: TextControlProps) {
  const { text, field, onChange } = props;
  return (
    <div className="form-color">
      <TextControl {...props} />
      <input
        type="color"
        aria-label={`Choose: ${field.label.toLowerCase()}`}
        value={/^#[0-9a-f]{6}$/i.test(text) ? text : noColor}
        onChange={({ target }) => onChange(target.value)}
      />
    </div>
  );
}
