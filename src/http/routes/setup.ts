import type { FastifyInstance } from 'fastify';
import { setUp } from '../../auth/set-up.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { answerNothing } from '../answer.ts';
import { bodyOf } from '../body.ts';
import { emptyAnswer, operation } from '../openapi/operation.ts';
import { objectSchema, type Paths, type Schema } from '../openapi/schema.ts';
import { onInstance } from '../route.ts';
import { ruleInput } from '../rule-input.ts';

/** Creating the first superuser of an instance, with the setup token that a start prints as long as there is none. */
export function setupRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.post(
    '/api/setup',
    { config: { formValues: 'texts' } },
    onInstance(instances, async ({ instance, caller }, request, reply) => {
      await setUp(instance, ruleInput(request, caller), bodyOf(request));
      return answerNothing(request, reply);
    }),
  );
}

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
