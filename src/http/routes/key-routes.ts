import type { FastifyInstance } from 'fastify';
import { createApiKey } from '../../auth/keys/create-api-key.ts';
import { deleteApiKey } from '../../auth/keys/delete-api-key.ts';
import { listApiKeys } from '../../auth/keys/list-api-keys.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { parseListQuery } from '../../lists/list-query.ts';
import { listJson } from '../../lists/list-json.ts';
import { answer, answerNothing } from '../answer.ts';
import { bodyOf } from '../request-body.ts';
import { onInstanceAsSuperuser } from '../on-instance.ts';
import { queryOf } from '../query-string.ts';
import { factsOf } from '../request-facts.ts';

interface KeyPath {
  Params: { id: string };
}

/** API keys, for superusers. */
export function keyRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.get(
    '/api/keys',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const page = await listApiKeys(instance, parseListQuery(queryOf(request)));
      const items = page.items.map((apiKey) => JSON.stringify(apiKey));
      return answer(request, reply, { json: listJson(page, items), isList: true });
    }),
  );

  app.post(
    '/api/keys',
    { config: { formValues: 'texts' } },
    onInstanceAsSuperuser(instances, async ({ instance, caller }, request, reply) => {
      const { apiKey, key } = await createApiKey(instance, bodyOf(request), factsOf(request, caller));
      // No other answer ever shows the key.
      const json = JSON.stringify({ ...apiKey, key });
      return answer(request, reply, { status: 201, json, headers: { 'cache-control': 'no-store' } });
    }),
  );

  app.delete<KeyPath>(
    '/api/keys/:id',
    onInstanceAsSuperuser<KeyPath>(instances, async ({ instance, caller }, request, reply) => {
      await deleteApiKey(instance, request.params.id, factsOf(request, caller));
      return answerNothing(request, reply);
    }),
  );
}
