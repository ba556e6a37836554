import type { Collection } from '../../api/client.ts';
import type { CompletionList } from '../../parts/editor/code-editor.ts';
import type { Field, Part } from '../../parts/form/field.ts';
import { isUniqueOn } from './unique-index.ts';

/** How accounts sign in: what stands above the providers. */
export function signInParts(collection: Collection): readonly Part[] {
  return [
    {
      kind: 'switch',
      path: 'passwordAuth.enabled',
      label: 'Password',
      help: 'Accounts sign in with a password.',
      fields: [
        {
          kind: 'set',
          path: 'passwordAuth.identityFields',
          label: 'Together with',
          help: 'A unique field that identifies the account.',
          choices: identityNames(collection).map((name) => ({ value: name, label: name })),
        },
      ],
    },
    {
      kind: 'switch',
      path: 'otp.enabled',
      label: 'One-time password',
      help: 'Accounts sign in with an emailed code.',
      fields: [
        duration('otp.duration', 'Valid for'),
        { kind: 'number', path: 'otp.length', label: 'Digits', none: 0 },
      ],
    },
  ];
}

/** Only what no two accounts share can tell them apart. */
function identityNames(collection: Collection): readonly string[] {
  const { fields, passwordAuth } = collection;
  return fields
    .filter(
      ({ name, type }) =>
        name === 'email' ||
        passwordAuth?.identityFields.includes(name) === true ||
        (type === 'text' && isUniqueOn(collection, name) && name !== 'tokenKey'),
    )
    .map(({ name }) => name);
}

/** What follows below the providers. */
export function accountParts({ fields }: Collection, ruleOfSecondFactor: Field): readonly Part[] {
  return [
    {
      kind: 'switch',
      path: 'mfa.enabled',
      label: 'Second factor',
      help: 'Accounts sign in with two methods, one after the other.',
      fields: [duration('mfa.duration', 'Time for the second one'), ruleOfSecondFactor],
    },
    {
      kind: 'switch',
      path: 'authAlert.enabled',
      label: 'Alert',
      help: 'Email accounts about sign-ins from new places.',
    },
    {
      kind: 'switch',
      path: 'webhooks.enabled',
      label: 'Webhooks of their own',
      help: 'Accounts can add endpoints, which receive what the account may view.',
    },
    {
      kind: 'fold',
      title: 'Token lifetimes',
      parts: Object.entries(tokens).map(([name, label]) => duration(`${name}.duration`, label)),
    },
    ...templates.map((template) => mailPart(template, fields)),
  ];
}

const tokens = {
  authToken: 'Session',
  verificationToken: 'Verification of an address',
  passwordResetToken: 'Reset of a password',
  emailChangeToken: 'Change of an address',
  fileToken: 'Protected files',
};

function duration(path: string, label: string): Field {
  return { kind: 'duration', path, label };
}

interface Template {
  readonly path: string;
  readonly title: string;
  /** What only this mail is filled with. */
  readonly names: readonly string[];
}

const templates: readonly Template[] = [
  { path: 'verificationTemplate', title: 'Verification of an address', names: ['TOKEN'] },
  { path: 'resetPasswordTemplate', title: 'Reset of a password', names: ['TOKEN'] },
  { path: 'confirmEmailChangeTemplate', title: 'Change of an address', names: ['TOKEN'] },
  { path: 'otp.emailTemplate', title: 'One-time password', names: ['OTP', 'OTP_ID'] },
  { path: 'authAlert.emailTemplate', title: 'Sign-in from somewhere new', names: ['ALERT_INFO'] },
];

function mailPart({ path, title, names }: Template, fields: Collection['fields']): Part {
  const filled = ['APP_NAME', 'APP_URL', ...names].map((name) => `{${name}}`);
  const values = fields.filter(({ hidden }) => !hidden).map(({ name }) => `{RECORD:${name}}`);
  return {
    kind: 'fold',
    title: `Mail: ${title}`,
    parts: [
      { kind: 'text', path: `${path}.subject`, label: 'Subject' },
      {
        kind: 'code',
        language: 'html',
        rows: 4,
        path: `${path}.body`,
        label: 'Text, in HTML',
        help: `${filled.join(', ')} and {RECORD:name} are filled in.`,
        complete: (text, caret) => completePlaceholder([...filled, ...values], text, caret),
      },
    ],
  };
}

/** Behind a brace: what is filled in. */
function completePlaceholder(names: readonly string[], text: string, caret: number): CompletionList {
  const [word = ''] = /\{[\w:]*$/.exec(text.slice(0, caret)) ?? [];
  const matches = names.filter((name) => word !== '' && name.startsWith(word));
  // The editor closes the brace when it is typed.
  const isClosed = text[caret] === '}';
  const items = matches.map((name) => ({ text: isClosed ? name.slice(0, -1) : name, hint: 'filled in' }));
  return { from: caret - word.length, items };
}
