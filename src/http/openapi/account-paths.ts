import type { Operation, Paths, Schema } from './document.ts';
import { objectSchema } from './object-schema.ts';
import { emptyAnswer, operation, type OperationParts } from './operation.ts';
import { schemaReference } from './reference.ts';

const path = '/api/collections/{collection}';

/** What accounts do by mail. */
export const accountPaths: Paths = {
  [`${path}/request-verification`]: {
    post: asked({
      id: 'requestVerification',
      summary: 'Send an account the mail that verifies its address',
      body: schemaReference('AccountAddress'),
    }),
  },
  [`${path}/confirm-verification`]: {
    post: confirmed({
      id: 'confirmVerification',
      summary: 'Verify an account with the token of that mail',
      body: objectSchema({ token: tokenSchema() }),
    }),
  },
  [`${path}/request-password-reset`]: {
    post: asked({
      id: 'requestPasswordReset',
      summary: 'Send an account the mail with which it chooses a new password',
      body: schemaReference('AccountAddress'),
    }),
  },
  [`${path}/confirm-password-reset`]: {
    post: confirmed({
      id: 'confirmPasswordReset',
      summary: 'Set a new password with the token of that mail; all sessions end',
      body: objectSchema({ token: tokenSchema(), password: secretSchema(), passwordConfirm: secretSchema() }),
    }),
  },
  [`${path}/request-email-change`]: {
    post: asked({
      id: 'requestEmailChange',
      summary: 'Send the mail that gives the account of this request another address to that address',
      body: objectSchema({ newEmail: { type: 'string', format: 'email', maxLength: 255 } }),
      refusals: [401, 403],
    }),
  },
  [`${path}/confirm-email-change`]: {
    post: confirmed({
      id: 'confirmEmailChange',
      summary: 'Change the address with the token of that mail and the password; all sessions end',
      body: objectSchema({ token: tokenSchema(), password: secretSchema() }),
    }),
  },
};

type AccountParts = Omit<OperationParts, 'tag' | 'parameters' | 'answers'>;

function asked(parts: AccountParts): Operation {
  return operation({
    ...parts,
    tag: 'auth',
    parameters: ['Collection'],
    answers: { 204: emptyAnswer('If there is such an account, a mail is on its way.') },
  });
}

function confirmed(parts: AccountParts): Operation {
  return operation({
    ...parts,
    tag: 'auth',
    parameters: ['Collection'],
    answers: { 204: emptyAnswer('Done.') },
    refusals: [409, 507],
  });
}

function tokenSchema(): Schema {
  return { type: 'string', description: 'Of the mail; good for one use.' };
}

function secretSchema(): Schema {
  return { type: 'string', minLength: 1, maxLength: 512 };
}

export const accountSchemas: Readonly<Record<string, Schema>> = {
  AccountAddress: objectSchema({ email: { type: 'string', format: 'email', maxLength: 255 } }),
};
