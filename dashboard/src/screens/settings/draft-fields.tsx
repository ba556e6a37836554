import { useId, type ComponentProps, type ReactNode } from 'react';
import { Button } from '../../parts/button.tsx';
import { Key } from '../../parts/key.tsx';
import { errorAttributes, LabelledField } from '../../parts/labelled-field.tsx';
import { FailureNotice, Notice } from '../../parts/notice.tsx';
import { PasswordInput } from '../../parts/password-input.tsx';
import type { Draft } from './use-draft.ts';

interface DraftFormProps {
  readonly draft: Draft;
  readonly children: ReactNode;
}

/** Fields that are saved together. */
export function DraftForm({ draft, children }: DraftFormProps) {
  return (
    <form
      className="settings-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        draft.save();
      }}
    >
      {draft.failure !== undefined && <FailureNotice error={draft.failure} />}
      {children}
      <div className="settings-foot">
        <Button type="submit" tone="primary" disabled={!draft.isChanged || draft.isBusy}>
          Save
          <Key keys="Mod↵" />
        </Button>
        {draft.isChanged && (
          <Button tone="quiet" onClick={draft.discard}>
            Discard
          </Button>
        )}
      </div>
    </form>
  );
}

interface GroupProps {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly children: ReactNode;
}

/** Settings that belong together, under a name. */
export function Group({ title, lead, children }: GroupProps) {
  const id = useId();
  return (
    <section className="settings-group" aria-labelledby={id}>
      <div>
        <h2 id={id}>{title}</h2>
        {lead !== undefined && <p className="soft">{lead}</p>}
      </div>
      {children}
    </section>
  );
}

interface FieldProps {
  readonly draft: Draft;
  readonly path: string;
  readonly label: string;
  readonly help?: string;
}

const idOf = (path: string): string => path.replaceAll('.', '-');

export function TextSetting({
  draft,
  path,
  label,
  help,
  ...props
}: FieldProps & Pick<ComponentProps<'input'>, 'type' | 'placeholder' | 'inputMode' | 'autoComplete'>) {
  const id = idOf(path);
  const error = draft.error(path);
  return (
    <LabelledField id={id} label={label} help={help} error={error}>
      <input
        autoComplete="off"
        spellCheck={false}
        {...props}
        id={id}
        className="input"
        value={draft.text(path)}
        onChange={(event) => draft.set(path, event.target.value)}
        {...errorAttributes(id, error)}
      />
    </LabelledField>
  );
}

export function NumberSetting({ draft, path, label, help, unit }: FieldProps & { readonly unit?: string }) {
  const id = idOf(path);
  const error = draft.error(path);
  const value = draft.value(path);
  return (
    <LabelledField id={id} label={label} aside={unit} help={help} error={error}>
      <input
        id={id}
        className="input"
        type="number"
        min="0"
        value={typeof value === 'number' ? value : ''}
        onChange={(event) =>
          // An empty one is no number, which the service says beside it.
          draft.set(path, event.target.value === '' ? '' : event.target.valueAsNumber)
        }
        {...errorAttributes(id, error)}
      />
    </LabelledField>
  );
}

export function SwitchSetting({ draft, path, label, help }: FieldProps) {
  const id = idOf(path);
  const error = draft.error(path);
  return (
    <div className="field">
      <label className="switch">
        <input
          id={id}
          type="checkbox"
          checked={draft.flag(path)}
          onChange={(event) => draft.set(path, event.target.checked)}
        />
        {label}
      </label>
      {help !== undefined && <p className="field-help">{help}</p>}
      {error !== undefined && <Notice tone="failed">{error}</Notice>}
    </div>
  );
}

interface ChoiceSettingProps extends FieldProps {
  readonly choices: readonly { readonly value: string | number; readonly label: string }[];
}

export function ChoiceSetting({ draft, path, label, help, choices }: ChoiceSettingProps) {
  const id = idOf(path);
  const error = draft.error(path);
  return (
    <LabelledField id={id} label={label} help={help} error={error}>
      <select
        id={id}
        className="input"
        value={draft.text(path)}
        onChange={(event) =>
          draft.set(path, choices.find(({ value }) => String(value) === event.target.value)?.value)
        }
        {...errorAttributes(id, error)}
      >
        {choices.map(({ value, label: name }) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </LabelledField>
  );
}

/** A list of texts, one a line. */
export function LinesSetting({
  draft,
  path,
  label,
  help,
  placeholder,
}: FieldProps & { readonly placeholder?: string }) {
  const id = idOf(path);
  const value = draft.value(path);
  const lines = Array.isArray(value) ? value.map(String) : [];
  const errors = draft.itemErrors(path).map(({ index, message }) => `${lines[index] ?? ''}: ${message}`);
  const error = draft.error(path) ?? (errors.length === 0 ? undefined : errors.join(' '));
  return (
    <LabelledField id={id} label={label} aside="one a line" help={help} error={error}>
      <textarea
        id={id}
        className="input mono"
        rows={3}
        value={lines.join('\n')}
        placeholder={placeholder}
        spellCheck={false}
        onChange={(event) => draft.set(path, event.target.value === '' ? [] : event.target.value.split('\n'))}
        // A line may be empty while one types.
        onBlur={() =>
          draft.set(
            path,
            lines.map((line) => line.trim()).filter((line) => line !== ''),
          )
        }
        {...errorAttributes(id, error)}
      />
    </LabelledField>
  );
}

/** A secret, which goes to the service and never comes back: it may be replaced or removed, but not looked at. */
export function SecretSetting({ draft, path, label }: Omit<FieldProps, 'help'>) {
  const id = idOf(path);
  const value = draft.value(path);
  const error = draft.error(path);
  const isRemoved = value === '';
  return (
    <LabelledField
      id={id}
      label={label}
      error={error}
      aside={
        <button type="button" className="link" onClick={() => draft.set(path, isRemoved ? undefined : '')}>
          {isRemoved ? 'Keep it' : 'Remove it'}
        </button>
      }
      help={
        isRemoved
          ? 'It is removed when you save.'
          : 'What is stored is never shown. Leave this empty to keep it.'
      }
    >
      <PasswordInput
        id={id}
        value={typeof value === 'string' ? value : ''}
        autoComplete="new-password"
        placeholder={isRemoved ? '' : 'Unchanged'}
        onChange={(event) => draft.set(path, event.target.value === '' ? undefined : event.target.value)}
        {...errorAttributes(id, error)}
      />
    </LabelledField>
  );
}
