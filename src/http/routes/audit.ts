import { actorKinds, auditActions } from '../../logs/audit-entry.ts';
import { listAudit } from '../../logs/list-audit.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { listParameters } from '../schemas/parameters.ts';
import { listSchema, objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

/** The audit log, for superusers. No route changes it. */
export const auditRoutes = [
  route({
    method: 'GET',
    path: '/api/audit',
    id: 'listAudit',
    tag: 'audit',
    summary: 'List the audit log, oldest entry first by default',
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
    until: described('The time of the last one, if `count` is more than 1.'),
    count: { type: 'integer', minimum: 1, description: 'How often it happened within a minute.' },
    action: { type: 'string', enum: auditActions },
    outcome: { type: 'string', enum: ['done', 'refused'] },
    actor: { type: 'string', enum: actorKinds },
    actorId: described('Id of a record or an API key; empty for guests and the operator.'),
    address: described('Address of the client; empty for the operator, and if there were too many.'),
    requestId: described('The `X-Request-Id` of the answer; of the first one, if `count` is more than 1.'),
    collection: described('Id of the collection that it concerns.'),
    target: described('Id of the record, API key or endpoint that it concerns.'),
    details: { type: 'object', additionalProperties: true },
  }),
  AuditList: listSchema(schemaReference('AuditEntry')),
};
