import type { FastifyInstance } from 'fastify';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { testRule } from '../../records/test-rule.ts';
import { answer } from '../answer.ts';
import { bodyOf } from '../request-body.ts';
import { onInstanceAsSuperuser } from '../on-instance.ts';

interface CollectionPath {
  Params: { collection: string };
}

/** Testing rules without doing anything, for those who write them. */
export function ruleRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.post<CollectionPath>(
    '/api/collections/:collection/rules/test',
    onInstanceAsSuperuser<CollectionPath>(instances, async ({ instance }, request, reply) => {
      await instance.refresh();
      const { collection } = request.params;
      const verdict = await testRule(instance, { collection, body: bodyOf(request) });
      return answer(request, reply, { json: JSON.stringify(verdict) });
    }),
  );
}
