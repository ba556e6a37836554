import { setUp } from '../../auth/set-up.ts';
import { nothing } from '../answer.ts';
import { emptyAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema } from '../schemas/schema.ts';
import { route } from '../route.ts';

const text: Schema = { type: 'string', minLength: 1 };

/** Creating the first superuser of an instance, with the setup token that a start prints as long as there is none. */
export const setupRoutes = [
  route({
    method: 'POST',
    path: '/api/setup',
    id: 'setUp',
    tag: 'auth',
    summary: 'Make the first superuser, with the token that the start of the server has printed',
    description:
      'The token is good once, for half an hour, and only while there is no superuser; else the answer is a 403.',
    body: objectSchema({ token: text, email: text, password: text, passwordConfirm: text }),
    formValues: 'texts',
    answers: { 204: emptyAnswer('The superuser is made and can sign in.') },
    refusals: [409, 507],
    handle: async ({ instance, input, body }) => {
      await setUp(instance, input, body);
      return nothing;
    },
  }),
];
