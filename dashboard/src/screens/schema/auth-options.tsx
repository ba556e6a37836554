import { lazy, Suspense, useState } from 'react';
import type { Collection } from '../../api/client.ts';
import { Editor } from '../../parts/editor/editor.tsx';
import { LabelledField } from '../../parts/labelled-field.tsx';
import { PlaceholderLines } from '../../parts/placeholder-lines.tsx';
import { duration } from '../../parts/time.tsx';
import { type DraftHandle, toCheckedInput } from './definition-draft.ts';
import { FlagOption, NumberOption, TextOption } from './option-controls.tsx';
import { RuleInput } from './rule-input.tsx';
import { isUniqueOn } from './unique-index.ts';

interface AuthOptionsProps {
  readonly draft: DraftHandle;
  readonly collections: readonly Collection[];
  readonly errors: ReadonlyMap<string, string>;
}

/** How accounts sign in, how long their tokens last, and what they get by mail. */
export function AuthOptions(props: AuthOptionsProps) {
  return (
    <>
      <PasswordOptions {...props} />
      <CodeOptions {...props} />
      <ProviderPanel {...props} />
      <FactorOptions {...props} />
      <TokenOptions {...props} />
      <MailOptions {...props} />
      <WebhookOptions {...props} />
    </>
  );
}

function PasswordOptions({ draft, errors }: AuthOptionsProps) {
  const { passwordAuth } = draft.next;
  if (passwordAuth === undefined) return null;
  const { identityFields } = passwordAuth;
  const set = (members: Partial<typeof passwordAuth>): void =>
    draft.change({ passwordAuth: { ...passwordAuth, ...members } });
  // Only what no two accounts share can tell them apart.
  const names = draft.next.fields
    .filter(
      ({ name, type }) =>
        name === 'email' ||
        identityFields.includes(name) ||
        (type === 'text' && isUniqueOn(draft.next, name) && name !== 'tokenKey'),
    )
    .map(({ name }) => name);
  return (
    <div className="schema-panel">
      <FlagOption
        label="Password"
        help="Accounts sign in with a password."
        value={passwordAuth.enabled}
        error={errors.get('passwordAuth.enabled')}
        onChange={(enabled) => set({ enabled })}
      />
      {passwordAuth.enabled && (
        <LabelledField
          id="identity"
          label="Together with"
          help="A unique field that identifies the account."
          error={errors.get('passwordAuth.identityFields')}
          isGroup
        >
          <div className="choices">
            {names.map((name) => {
              const isChosen = identityFields.includes(name);
              return (
                <button
                  key={name}
                  type="button"
                  className="choice"
                  aria-pressed={isChosen}
                  onClick={() =>
                    set({
                      identityFields: isChosen
                        ? identityFields.filter((one) => one !== name)
                        : [...identityFields, name],
                    })
                  }
                >
                  {name}
                </button>
              );
            })}
          </div>
        </LabelledField>
      )}
    </div>
  );
}

function CodeOptions({ draft, errors }: AuthOptionsProps) {
  const { otp } = draft.next;
  if (otp === undefined) return null;
  return (
    <div className="schema-panel">
      <FlagOption
        label="One-time password"
        help="Accounts sign in with an emailed code."
        value={otp.enabled}
        error={errors.get('otp.enabled')}
        onChange={(enabled) => draft.change({ otp: { ...otp, enabled } })}
      />
      {otp.enabled && (
        <div className="schema-grid">
          <SecondsOption
            label="It lasts, in seconds"
            value={otp.duration}
            error={errors.get('otp.duration')}
            onChange={(seconds) => draft.change({ otp: { ...otp, duration: seconds } })}
          />
          <NumberOption
            label="Digits"
            none={0}
            value={otp.length}
            error={errors.get('otp.length')}
            onChange={(length) => draft.change({ otp: { ...otp, length } })}
          />
        </div>
      )}
    </div>
  );
}

// Loaded when it is opened.
const ProviderOptions = lazy(async () => ({
  default: (await import('./provider-options.tsx')).ProviderOptions,
}));

/** Providers of a collection that is stored. */
function ProviderPanel({ draft, collections }: AuthOptionsProps) {
  const [isOpen, setIsOpen] = useState(false);
  const collection = collections.find(({ id }) => id === draft.next.id);
  if (collection?.oauth2 === undefined) return null;
  return (
    <details className="schema-panel" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Sign-in providers</summary>
      {isOpen && (
        <Suspense fallback={<PlaceholderLines count={2} />}>
          <ProviderOptions collection={collection} />
        </Suspense>
      )}
    </details>
  );
}

function WebhookOptions({ draft, errors }: AuthOptionsProps) {
  const { webhooks } = draft.next;
  if (webhooks === undefined) return null;
  return (
    <div className="schema-panel">
      <FlagOption
        label="Webhooks of their own"
        help="Accounts can add endpoints, which receive what the account may view."
        value={webhooks.enabled}
        error={errors.get('webhooks.enabled')}
        onChange={(enabled) => draft.change({ webhooks: { enabled } })}
      />
    </div>
  );
}

function FactorOptions({ draft, collections, errors }: AuthOptionsProps) {
  const { mfa } = draft.next;
  if (mfa === undefined) return null;
  const error = errors.get('mfa.rule');
  return (
    <div className="schema-panel">
      <FlagOption
        label="Second factor"
        help="Accounts sign in with two methods, one after the other."
        value={mfa.enabled}
        error={errors.get('mfa.enabled')}
        onChange={(enabled) => draft.change({ mfa: { ...mfa, enabled } })}
      />
      {mfa.enabled && (
        <>
          <SecondsOption
            label="Time for the second one, in seconds"
            value={mfa.duration}
            error={errors.get('mfa.duration')}
            onChange={(seconds) => draft.change({ mfa: { ...mfa, duration: seconds } })}
          />
          <LabelledField
            id="mfa-rule"
            label="Only for accounts that"
            help="A rule; empty: for all accounts."
            error={error}
          >
            <RuleInput
              id="mfa-rule"
              label="Only for accounts that"
              value={mfa.rule}
              collection={draft.next}
              collections={collections}
              definition={toCheckedInput(draft, !collections.some(({ id }) => id === draft.base.id))}
              error={error}
              onChange={(rule) => draft.change({ mfa: { ...mfa, rule } })}
            />
          </LabelledField>
        </>
      )}
    </div>
  );
}

const tokens = [
  ['authToken', 'Session'],
  ['verificationToken', 'Verification of an address'],
  ['passwordResetToken', 'Reset of a password'],
  ['emailChangeToken', 'Change of an address'],
  ['fileToken', 'Protected files'],
] as const;

function TokenOptions({ draft, errors }: AuthOptionsProps) {
  return (
    <details
      className="schema-panel"
      open={tokens.some(([name]) => errors.has(`${name}.duration`)) || undefined}
    >
      <summary>Token lifetimes</summary>
      <div className="schema-grid">
        {tokens.map(([name, label]) => (
          <SecondsOption
            key={name}
            label={`${label}, in seconds`}
            value={draft.next[name]?.duration ?? 0}
            error={errors.get(`${name}.duration`)}
            onChange={(seconds) => draft.change({ [name]: { ...draft.next[name], duration: seconds } })}
          />
        ))}
      </div>
    </details>
  );
}

interface SecondsOptionProps {
  readonly label: string;
  readonly value: number;
  readonly error: string | undefined;
  readonly onChange: (seconds: number) => void;
}

function SecondsOption({ label, value, error, onChange }: SecondsOptionProps) {
  return (
    <NumberOption
      label={label}
      help={value > 0 ? duration(value) : undefined}
      none={0}
      value={value}
      error={error}
      onChange={onChange}
    />
  );
}

interface Template {
  readonly subject: string;
  readonly body: string;
}

function MailOptions({ draft, errors }: AuthOptionsProps) {
  const { next } = draft;
  const { otp, authAlert } = next;
  const templates: readonly (readonly [
    string,
    string,
    Template | undefined,
    (template: Template) => void,
  ])[] = [
    [
      'verificationTemplate',
      'Verification of an address',
      next.verificationTemplate,
      (verificationTemplate) => draft.change({ verificationTemplate }),
    ],
    [
      'resetPasswordTemplate',
      'Reset of a password',
      next.resetPasswordTemplate,
      (resetPasswordTemplate) => draft.change({ resetPasswordTemplate }),
    ],
    [
      'confirmEmailChangeTemplate',
      'Change of an address',
      next.confirmEmailChangeTemplate,
      (confirmEmailChangeTemplate) => draft.change({ confirmEmailChangeTemplate }),
    ],
    [
      'otp.emailTemplate',
      'One-time password',
      otp?.emailTemplate,
      (emailTemplate) => otp !== undefined && draft.change({ otp: { ...otp, emailTemplate } }),
    ],
    [
      'authAlert.emailTemplate',
      'Sign-in from somewhere new',
      authAlert?.emailTemplate,
      (emailTemplate) =>
        authAlert !== undefined && draft.change({ authAlert: { ...authAlert, emailTemplate } }),
    ],
  ];
  return (
    <>
      {authAlert !== undefined && (
        <div className="schema-panel">
          <FlagOption
            label="Alert"
            help="Email accounts about sign-ins from new places."
            value={authAlert.enabled}
            error={errors.get('authAlert.enabled')}
            onChange={(enabled) => draft.change({ authAlert: { ...authAlert, enabled } })}
          />
        </div>
      )}
      {templates.map(([path, title, template, onChange]) =>
        template === undefined ? null : (
          <MailTemplate key={path} {...{ path, title, template, errors, onChange }} />
        ),
      )}
    </>
  );
}

interface MailTemplateProps {
  readonly path: string;
  readonly title: string;
  readonly template: Template;
  readonly errors: ReadonlyMap<string, string>;
  readonly onChange: (template: Template) => void;
}

function MailTemplate({ path, title, template, errors, onChange }: MailTemplateProps) {
  const id = `mail-${path}`;
  const error = errors.get(`${path}.body`);
  return (
    <details
      className="schema-panel"
      open={[...errors.keys()].some((name) => name.startsWith(path)) || undefined}
    >
      <summary>Mail: {title}</summary>
      <TextOption
        label="Subject"
        value={template.subject}
        error={errors.get(`${path}.subject`)}
        onChange={(subject) => onChange({ ...template, subject })}
      />
      <LabelledField
        id={id}
        label="Text, in HTML"
        help="{APP_NAME}, {APP_URL}, {TOKEN}, {OTP}, {ALERT_INFO} and {RECORD:name} are filled in."
        error={error}
      >
        <Editor
          id={id}
          label="Text, in HTML"
          language="html"
          lines={4}
          value={template.body}
          error={error}
          onChange={(body) => onChange({ ...template, body })}
          complete={completePlaceholder}
        />
      </LabelledField>
    </details>
  );
}

const placeholders: readonly string[] = ['APP_NAME', 'APP_URL', 'TOKEN', 'OTP', 'ALERT_INFO', 'RECORD:'];

/** Behind a brace: what is filled in. */
function completePlaceholder(text: string, caret: number) {
  const [word = ''] = /\{[\w:]*$/.exec(text.slice(0, caret)) ?? [];
  const matches = placeholders
    .map((name) => `{${name}}`)
    .filter((name) => word !== '' && name.startsWith(word));
  return { from: caret - word.length, items: matches.map((name) => ({ text: name, hint: 'filled in' })) };
}
