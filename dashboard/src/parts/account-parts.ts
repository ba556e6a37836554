import type { Collection } from '../api/client.ts';
import type { Field, Part } from './form/field.ts';
import { isUniqueOn } from './unique-index.ts';

/** How accounts sign in. */
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

/** Of the rule that says which accounts need a second factor; its control differs. */
export const secondFactorRule = {
  path: 'mfa.rule',
  label: 'Only for accounts that',
  help: 'A rule; empty: for all accounts.',
};

/** What accounts get beside signing in, and what else they must show. */
export function accountParts(ruleOfSecondFactor: Field): readonly Part[] {
  return [
    {
      kind: 'switch',
      path: 'mfa.enabled',
      label: 'Second factor',
      help: 'Accounts sign in with two methods, one after the other. At least two must be on.',
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
  ];
}

/** How long what they get is good for. */
export const tokenLifetimes: readonly Field[] = [
  duration('authToken.duration', 'Session'),
  duration('verificationToken.duration', 'Verification of an address'),
  duration('passwordResetToken.duration', 'Reset of a password'),
  duration('emailChangeToken.duration', 'Change of an address'),
  duration('fileToken.duration', 'Protected files'),
];

function duration(path: string, label: string): Field {
  return { kind: 'duration', path, label };
}
