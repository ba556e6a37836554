import type { FastifyInstance } from 'fastify';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { parseListQuery } from '../../lists/list-query.ts';
import { countLogs, getLog, listLogs } from '../../logs/list-logs.ts';
import { listJson } from '../../lists/list-json.ts';
import { answer, answerNothing } from '../answer.ts';
import { onInstanceAsSuperuser } from '../on-instance.ts';
import { queryOf } from '../query-string.ts';

interface LogPath {
  Params: { id: string };
}

/** The log of the instance's requests, for superusers. */
export function logRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.get(
    '/api/logs',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const query = parseListQuery(queryOf(request));
      const reading = { database: await instance.logs.table(), now: instance.clock.now() };
      const page = await listLogs(reading, query);
      const items = page.items.map((entry) => JSON.stringify(entry));
      return answer(request, reply, { json: listJson(page, items), isList: true });
    }),
  );

  app.get(
    '/api/logs/stats',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const reading = { database: await instance.logs.table(), now: instance.clock.now() };
      const counts = await countLogs(reading, queryOf(request).get('filter'));
      return answer(request, reply, { json: JSON.stringify(counts) });
    }),
  );

  app.get<LogPath>(
    '/api/logs/:id',
    onInstanceAsSuperuser<LogPath>(instances, async ({ instance }, request, reply) => {
      const entry = await getLog(await instance.logs.table(), request.params.id);
      return answer(request, reply, { json: JSON.stringify(entry) });
    }),
  );

  app.delete(
    '/api/logs',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      await instance.logs.clear();
      return answerNothing(request, reply);
    }),
  );
}
