import type { FastifyInstance } from 'fastify';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { actorKinds, auditActions } from '../../logs/audit-entry.ts';
import { listAudit } from '../../logs/list-audit.ts';
import { parseListQuery } from '../../query/list-query.ts';
import { listJson } from '../../query/run-list.ts';
import { answer } from '../answer.ts';
import { jsonAnswer, listParameters, operation } from '../openapi/operation.ts';
import { listSchema, objectSchema, type Paths, type Schema, schemaReference } from '../openapi/schema.ts';
import { queryOf } from '../request.ts';
import { onInstanceAsSuperuser } from '../route.ts';

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

/** The audit log, for superusers. */
export const auditPaths: Paths = {
  '/api/audit': {
    get: operation({
      id: 'listAudit',
      tag: 'audit',
      summary: 'A page of the audit log, the oldest entry first unless a sort says otherwise',
      parameters: listParameters,
      answers: { 200: jsonAnswer('The entries.', schemaReference('AuditList')) },
      isForSuperusers: true,
    }),
  },
};

const text: Schema = { type: 'string' };

function told(description: string): Schema {
  return { type: 'string', description };
}

export const auditSchemas: Readonly<Record<string, Schema>> = {
  AuditEntry: objectSchema({
    id: text,
    created: text,
    until: told('When the last one happened, where `count` is more than 1.'),
    count: { type: 'integer', minimum: 1, description: 'How often it happened within a minute.' },
    action: { enum: auditActions },
    outcome: { enum: ['done', 'refused'] },
    actor: { enum: actorKinds },
    actorId: told('Of a record or an API key; empty for guests and the operator.'),
    address: told('The client; empty for the operator, and where there were too many of them.'),
    requestId: told('The `X-Request-Id` of the answer, of the first where `count` is more than 1.'),
    collection: told('Id of the collection that it was about.'),
    target: told('Id of the record, API key or endpoint that it was about.'),
    details: { type: 'object', additionalProperties: true },
  }),
  AuditList: listSchema(schemaReference('AuditEntry')),
};
