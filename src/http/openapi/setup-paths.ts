import type { Paths, Schema } from './document.ts';
import { objectSchema } from './object-schema.ts';
import { emptyAnswer, operation } from './operation.ts';

const text: Schema = { type: 'string', minLength: 1 };

/** The first superuser of an instance. */
export const setupPaths: Paths = {
  '/api/setup': {
    post: operation({
      id: 'setUp',
      tag: 'auth',
      summary: 'Make the first superuser, with the token that the start of the server has printed',
      description:
        'The token is good once, for half an hour, and only while there is no superuser; else the answer is a 403.',
      body: objectSchema({ token: text, email: text, password: text, passwordConfirm: text }),
      answers: { 204: emptyAnswer('The superuser is made and can sign in.') },
      refusals: [409, 507],
    }),
  },
};
