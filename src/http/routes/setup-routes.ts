import type { FastifyInstance } from 'fastify';
import { setUp } from '../../auth/set-up.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { answerNothing } from '../answer.ts';
import { bodyOf } from '../request-body.ts';
import { onInstance } from '../on-instance.ts';
import { factsOf } from '../request-facts.ts';

/** Creating the first superuser of an instance, with the setup token that a start prints as long as there is none. */
export function setupRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.post(
    '/api/setup',
    { config: { formValues: 'texts' } },
    onInstance(instances, async ({ instance, caller }, request, reply) => {
      await setUp(instance, factsOf(request, caller), bodyOf(request));
      return answerNothing(request, reply);
    }),
  );
}
