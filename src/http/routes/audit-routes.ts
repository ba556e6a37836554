import type { FastifyInstance } from 'fastify';
import { listAudit } from '../../audit/list-audit.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { parseListQuery } from '../../lists/list-query.ts';
import { listJson } from '../../lists/list-json.ts';
import { answer } from '../answer.ts';
import { onInstanceAsSuperuser } from '../on-instance.ts';
import { queryOf } from '../query-string.ts';

/** The audit log, for superusers. No route changes it. */
export function auditRoutes(app: FastifyInstance, instances: OpenInstances): void {
  app.get(
    '/api/audit',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const page = await listAudit(instance, parseListQuery(queryOf(request)));
      const items = page.items.map((entry) => JSON.stringify(entry));
      return answer(request, reply, { json: listJson(page, items), isList: true });
    }),
  );
}
