import { keyScopes, type KeyScope } from '../api/keys.ts';
import { Code } from './code.tsx';
import { errorAttributes, LabelledField } from './labelled-field.tsx';
import { Notice } from './notice.tsx';

interface NameFieldProps {
  readonly name: string;
  readonly error: string | undefined;
  readonly onChange: (name: string) => void;
}

/** Which program an API key is for. */
export function NameField({ name, error, onChange }: NameFieldProps) {
  return (
    <LabelledField id="key-name" label="Name" error={error} help="Which program it is for.">
      <input
        id="key-name"
        className="input"
        value={name}
        autoFocus
        autoComplete="off"
        onChange={(event) => onChange(event.target.value)}
        {...errorAttributes('key-name', error)}
      />
    </LabelledField>
  );
}

interface ExpiryFieldProps {
  readonly expires: string;
  readonly error: string | undefined;
  readonly onChange: (expires: string) => void;
}

export function ExpiryField({ expires, error, onChange }: ExpiryFieldProps) {
  return (
    <LabelledField id="key-expires" label="Expires" error={error} help="Empty: never.">
      <input
        id="key-expires"
        className="input settings-picker"
        type="datetime-local"
        value={expires}
        onChange={(event) => onChange(event.target.value)}
        {...errorAttributes('key-expires', error)}
      />
    </LabelledField>
  );
}

interface ScopeBoxesProps {
  readonly scopes: readonly KeyScope[];
  readonly error: string | undefined;
  readonly onChange: (scopes: readonly KeyScope[]) => void;
}

export function ScopeBoxes({ scopes, error, onChange }: ScopeBoxesProps) {
  return (
    <LabelledField id="key-scopes" label="What it may do" isGroup error={error}>
      <div className="settings-boxes">
        {keyScopes.map(({ scope, text }) => (
          <label key={scope} className="settings-box" aria-label={`${scope}: ${text}`}>
            <input
              type="checkbox"
              checked={scopes.includes(scope)}
              onChange={(event) =>
                onChange(event.target.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))
              }
            />
            <span>
              <span className="mono">{scope}</span>
              <span className="soft">{text}</span>
            </span>
          </label>
        ))}
      </div>
    </LabelledField>
  );
}

/** A key at the only moment at which it shows. */
export function KeyOnce({ text }: { readonly text: string }) {
  return (
    <>
      <Notice tone="retrying">
        Copy it now: it is shown this once, and the service keeps only a digest.
      </Notice>
      <Code text={text} />
    </>
  );
}
