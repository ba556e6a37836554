import type { Collection } from '../../api/client.ts';
import type { Field, Part } from '../../parts/form/field.ts';
import { mailTemplates, templateFields } from '../../parts/mail-templates.ts';
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
export function accountParts(collection: Collection, ruleOfSecondFactor: Field): readonly Part[] {
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
    ...mailTemplates.map((template): Part => ({
      kind: 'fold',
      title: `Mail: ${template.label}`,
      parts: templateFields(template, collection),
    })),
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
