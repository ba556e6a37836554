import { actorKinds, auditActions } from '../../audit/audit-entry.ts';
import type { Paths, Schema } from './document.ts';
import { listSchema } from './list-schema.ts';
import { objectSchema } from './object-schema.ts';
import { jsonAnswer, operation } from './operation.ts';
import { listParameters } from './parameters.ts';
import { schemaReference } from './reference.ts';

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
