import { actorKinds, auditActions } from '../../logs/audit-entry.ts';
import { listAudit } from '../../logs/list-audit.ts';
import { jsonAnswer, listParameters } from '../schemas/operation.ts';
import { listSchema, objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

/** The audit log, for superusers. No route changes it. */
export const auditRoutes = [
  route({
    method: 'GET',
    path: '/api/audit',
    id: 'listAudit',
    tag: 'audit',
    summary: 'A page of the audit log, the oldest entry first unless a sort says otherwise',
    isForSuperusers: true,
    parameters: listParameters,
    answers: { 200: jsonAnswer('The entries.', schemaReference('AuditList')) },
    handle: async (context) => context.answerList(await listAudit(context.instance, context.listQuery)),
  }),
];

const text: Schema = { type: 'string' };

function described(description: string): Schema {
  return { type: 'string', description };
}

export const auditSchemas: Readonly<Record<string, Schema>> = {
  AuditEntry: objectSchema({
    id: text,
    created: text,
    until: described('When the last one happened, where `count` is more than 1.'),
    count: { type: 'integer', minimum: 1, description: 'How often it happened within a minute.' },
    action: { enum: auditActions },
    outcome: { enum: ['done', 'refused'] },
    actor: { enum: actorKinds },
    actorId: described('Of a record or an API key; empty for guests and the operator.'),
    address: described('The client; empty for the operator, and where there were too many of them.'),
    requestId: described('The `X-Request-Id` of the answer, of the first where `count` is more than 1.'),
    collection: described('Id of the collection that it was about.'),
    target: described('Id of the record, API key or endpoint that it was about.'),
    details: { type: 'object', additionalProperties: true },
  }),
  AuditList: listSchema(schemaReference('AuditEntry')),
};
