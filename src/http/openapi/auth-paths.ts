import type { Paths, Schema } from './document.ts';
import { objectSchema } from './object-schema.ts';
import { jsonAnswer, operation } from './operation.ts';
import { schemaReference } from './reference.ts';

const answers = { 200: jsonAnswer('Signed in.', schemaReference('SignedIn')) };

/** Signing in. */
export const authPaths: Paths = {
  '/api/collections/{collection}/auth-with-password': {
    post: operation({
      id: 'signInWithPassword',
      tag: 'auth',
      summary: 'Sign in with a password',
      parameters: ['Collection', 'Fields'],
      body: schemaReference('Credentials'),
      answers,
      refusals: [507],
    }),
  },
  '/api/collections/{collection}/auth-refresh': {
    post: operation({
      id: 'refreshSignIn',
      tag: 'auth',
      summary: 'A new token for the one of this request',
      parameters: ['Collection', 'Fields'],
      answers,
      refusals: [401, 413, 415],
    }),
  },
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
    },
    ['identityField'],
  ),
  SignedIn: objectSchema({
    record: schemaReference('Record'),
    token: { type: 'string', description: 'For the header `Authorization`.' },
  }),
};
