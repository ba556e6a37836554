import type { Paths, Schema } from './document.ts';
import { objectSchema } from './object-schema.ts';
import { jsonAnswer, operation } from './operation.ts';
import { schemaReference } from './reference.ts';

const answers = { 200: jsonAnswer('Signed in.', schemaReference('SignedIn')) };

const signInAnswers = {
  ...answers,
  401: jsonAnswer('Another way to sign in is asked for as well, with this id; or an API key is not valid.', {
    anyOf: [schemaReference('SecondFactor'), schemaReference('Error')],
  }),
};

/** Signing in. */
export const authPaths: Paths = {
  '/api/collections/{collection}/auth-methods': {
    get: operation({
      id: 'listAuthMethods',
      tag: 'auth',
      summary: 'How an account of the collection may sign in',
      parameters: ['Collection', 'Fields'],
      answers: { 200: jsonAnswer('The methods.', schemaReference('AuthMethods')) },
    }),
  },
  '/api/collections/{collection}/impersonate/{id}': {
    post: operation({
      id: 'impersonate',
      tag: 'auth',
      summary: 'A token of an account, which cannot be renewed',
      parameters: ['Collection', 'RecordId', 'Expand', 'Fields'],
      body: schemaReference('Impersonation'),
      isBodyOptional: true,
      answers,
      isForSuperusers: true,
    }),
  },
  '/api/collections/{collection}/auth-with-password': {
    post: operation({
      id: 'signInWithPassword',
      tag: 'auth',
      summary: 'Sign in with a password',
      parameters: ['Collection', 'Expand', 'Fields', 'MfaId'],
      body: schemaReference('Credentials'),
      answers: signInAnswers,
      refusals: [403, 409, 507],
    }),
  },
  '/api/collections/{collection}/request-otp': {
    post: operation({
      id: 'requestOtp',
      tag: 'auth',
      summary: 'Send an account a one-time password',
      parameters: ['Collection', 'Fields'],
      body: schemaReference('AccountAddress'),
      answers: {
        200: jsonAnswer(
          'If there is such an account, a mail is on its way.',
          objectSchema({ otpId: { type: 'string', description: 'To be sent back with the code.' } }),
        ),
      },
    }),
  },
  '/api/collections/{collection}/auth-with-otp': {
    post: operation({
      id: 'signInWithOtp',
      tag: 'auth',
      summary: 'Sign in with a one-time password',
      parameters: ['Collection', 'Expand', 'Fields', 'MfaId'],
      body: schemaReference('OneTimePassword'),
      answers: signInAnswers,
      refusals: [403, 409, 507],
    }),
  },
  '/api/collections/{collection}/auth-refresh': {
    post: operation({
      id: 'refreshSignIn',
      tag: 'auth',
      summary: 'A new token for the one of this request',
      parameters: ['Collection', 'Expand', 'Fields'],
      answers,
      refusals: [401, 403, 413, 415],
    }),
  },
};

const mfaId: Schema = {
  type: 'string',
  description: 'Of the answer to the first of two ways to sign in; here or in the query.',
};

export const authSchemas: Readonly<Record<string, Schema>> = {
  Credentials: objectSchema(
    {
      identity: { type: 'string', minLength: 1, maxLength: 255 },
      password: { type: 'string', minLength: 1, maxLength: 512 },
      identityField: {
        type: 'string',
        description: 'Where the identity is looked for; anywhere if left out.',
      },
      mfaId,
    },
    ['identityField', 'mfaId'],
  ),
  OneTimePassword: objectSchema(
    {
      otpId: { type: 'string', minLength: 1, maxLength: 255 },
      password: { type: 'string', minLength: 1, maxLength: 71, description: 'The code of the mail.' },
      mfaId,
    },
    ['mfaId'],
  ),
  SecondFactor: objectSchema({ mfaId: { type: 'string' } }),
  AuthMethods: objectSchema({
    password: objectSchema({
      identityFields: { type: 'array', items: { type: 'string' } },
      enabled: { type: 'boolean' },
    }),
    oauth2: objectSchema({ providers: { type: 'array', maxItems: 0 }, enabled: { const: false } }),
    mfa: methodSchema(),
    otp: methodSchema(),
    authProviders: { type: 'null' },
    usernamePassword: { type: 'boolean' },
    emailPassword: { type: 'boolean' },
  }),
  Impersonation: objectSchema(
    {
      duration: {
        type: ['integer', 'null'],
        minimum: 0,
        maximum: 94_670_856,
        description: 'Seconds; 0 for as many as the collection says.',
      },
    },
    ['duration'],
  ),
  SignedIn: objectSchema({
    record: schemaReference('Record'),
    token: { type: 'string', description: 'For the header `Authorization`.' },
  }),
};

function methodSchema(): Schema {
  return objectSchema({
    enabled: { type: 'boolean' },
    duration: { type: 'integer', description: 'Seconds.' },
  });
}
