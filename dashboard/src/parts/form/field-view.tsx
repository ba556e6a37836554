import type { ReactNode } from 'react';
import { Editor } from '../editor/editor.tsx';
import { errorAttributes, LabelledField } from '../labelled-field.tsx';
import { once } from './codec.ts';
import type { CodeField, ControlProps, Field, OptionalField, SwitchField } from './field.ts';
import { Chooser, isFew } from './picker.tsx';
import { SetControl } from './set-control.tsx';
import { ColorControl, SecretControl, TextControl } from './text-control.tsx';
import type { Form } from './use-form.ts';

interface FieldViewProps {
  readonly form: Form;
  readonly field: Field;
}

/** A field as its description has it: nothing where it does not apply. */
export function FieldView({ form, field }: FieldViewProps) {
  if (!form.isShown(field)) return null;
  if (field.kind === 'switch' || field.kind === 'optional')
    return <SwitchedFields form={form} field={field} />;
  const { path, label, isRequired = false } = field;
  const id = form.idOf(field);
  const error = form.errors.get(path);
  const hasChanged = isMarked(form, field);
  const props: ControlProps = {
    id,
    form,
    error,
    input: form.input(field),
    onChange: (input) => form.set(path, input),
  };
  return (
    <div className="form-field" data-changed={hasChanged ? '' : undefined}>
      <LabelledField
        id={id}
        label={label}
        isRequired={isRequired}
        isGroup={isGroup(field)}
        error={error}
        help={helpOf(form, field)}
        aside={<Aside {...props} field={field} hasChanged={hasChanged} />}
      >
        <Control {...props} field={field} />
      </LabelledField>
    </div>
  );
}

function helpOf(form: Form, { help }: Field): string | undefined {
  return typeof help === 'function' ? help(form) : help;
}

/** What is new is all changed. */
function isMarked(form: Form, { path }: Field): boolean {
  return !form.isNew && form.changed.some((one) => one.path === path);
}

function isGroup(field: Field): boolean {
  return field.kind === 'set' || (field.kind === 'choice' && isFew(field));
}

function Control({ field, ...props }: ControlProps & { readonly field: Field }): ReactNode {
  const text = typeof props.input === 'string' ? props.input : '';
  switch (field.kind) {
    case 'choice':
      return <Chooser {...field} {...props} value={props.input} />;
    case 'set':
      return <SetControl {...props} field={field} />;
    case 'secret':
      return <SecretControl {...props} text={text} field={field} />;
    case 'color':
      return <ColorControl {...props} text={text} field={field} />;
    case 'code':
      return <CodeControl {...props} text={text} field={field} />;
    case 'custom':
      return field.control(props);
    case 'switch':
    case 'optional':
      return null;
    default:
      return <TextControl {...props} text={text} field={field} />;
  }
}

interface CodeControlProps extends ControlProps {
  readonly text: string;
  readonly field: CodeField;
}

function CodeControl({ text, field, ...props }: CodeControlProps) {
  const { complete, rows = 1, ...look } = field;
  const { form, error } = props;
  // What the service says of an expression has the place where it is wrong.
  const [, position] = /\bat position (\d+)/.exec(error ?? '') ?? [];
  return (
    <Editor
      {...look}
      {...props}
      value={text}
      lines={rows}
      problem={position === undefined ? undefined : { position: Number(position), message: error ?? '' }}
      complete={complete && ((typed, caret) => complete(typed, caret, form))}
    />
  );
}

interface AsideProps extends ControlProps {
  readonly field: Field;
  readonly hasChanged: boolean;
}

/** The unit, and what takes a change back. */
function Aside({ id, field, form, input, hasChanged, onChange }: AsideProps) {
  const isRemoved = field.kind === 'secret' && input === '' && hasChanged;
  return (
    <>
      {field.aside}
      {field.kind === 'delays' && (
        <label className="check">
          <input
            type="checkbox"
            checked={input === once}
            onChange={({ target }) => onChange(target.checked ? once : '')}
          />
          Don’t retry
        </label>
      )}
      {field.kind === 'secret' && field.isRemovable === true && (
        <button
          type="button"
          className="link"
          onClick={() => (isRemoved ? form.undo(field.path) : onChange(''))}
        >
          {isRemoved ? 'Keep it' : 'Remove it'}
        </button>
      )}
      {hasChanged && field.kind !== 'secret' && (
        <button
          type="button"
          className="link"
          aria-describedby={`${id}-label`}
          onClick={() => {
            form.undo(field.path);
            // The button is gone.
            document.getElementById(id)?.focus();
          }}
        >
          Undo
        </button>
      )}
    </>
  );
}

function Switch({ form, field }: FieldViewProps) {
  const { path, label } = field;
  const id = form.idOf(field);
  const [help, error] = [helpOf(form, field), form.errors.get(path)];
  return (
    <div className="field form-field" data-changed={isMarked(form, field) ? '' : undefined}>
      <label className="switch">
        <input
          id={id}
          type="checkbox"
          checked={form.input(field) === true}
          disabled={field.isLocked}
          onChange={({ target }) => form.set(path, target.checked)}
          {...errorAttributes(id, error)}
        />
        <span className="field-label">{label}</span>
      </label>
      {help !== undefined && help !== '' && <p className="field-help">{help}</p>}
      {error !== undefined && (
        <p className="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

interface SwitchedFieldsProps {
  readonly form: Form;
  readonly field: SwitchField | OptionalField;
}

/** A switch, and what it switches on. */
function SwitchedFields({ form, field }: SwitchedFieldsProps) {
  const { fields = [] } = field;
  return (
    <>
      <Switch form={form} field={field} />
      {fields.length > 0 && form.input(field) === true && (
        <div className="form-nested">
          {fields.map((one) => (
            <FieldView key={one.path} form={form} field={one} />
          ))}
        </div>
      )}
    </>
  );
}
