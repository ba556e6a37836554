import { AppError } from '../../base/errors.ts';
import type { Access } from '../../query/explain-list.ts';
import { createRecord, prepareCreate } from '../../records/create-record.ts';
import { deleteRecord, prepareDelete, TooManyReferring } from '../../records/delete-record.ts';
import { listRecords } from '../../records/list-records.ts';
import { readRecord } from '../../records/read-record.ts';
import { prepareUpdate, updateRecord } from '../../records/update-record.ts';
import { requireNotLeaving } from '../../records/removal-store.ts';
import { recordForm } from '../form-plans.ts';
import { nothing } from '../answer.ts';
import { emptyAnswer, freeForm, jsonAnswer, type OperationParts } from '../schemas/operation.ts';
import { listParameters } from '../schemas/parameters.ts';
import { cursorListSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { expectedRevision, isAlreadyKnown, recordAnswer, textAnswer } from '../record-answer.ts';
import { route } from '../route.ts';

/** How clients are told of records: those of any collection, or of one whose fields are known. */
export interface RecordDescription {
  /** Appended to each operation's id, as ids must be unique in a document. */
  readonly suffix: string;
  /** Parameters of the path; those of the query follow. */
  readonly parameters: readonly string[];
  readonly schemas: {
    readonly record: Schema;
    readonly list: Schema;
    readonly create: Schema;
    readonly update: Schema;
    /** The body of a create or update as a form, with files. */
    readonly form: Schema;
  };
  /** Text for each description; absent for none. */
  readonly describe?: (rule: 'listRule' | 'viewRule' | 'createRule' | 'updateRule' | 'deleteRule') => string;
}

const tagged = { ETag: 'EntityTag' } as const;
const replayable = { 'Idempotent-Replayed': 'Replayed' } as const;
const refusedWrites = [409, 422, 507] as const;

const deleteAnswers = {
  202: emptyAnswer('So many records refer to it that the delete goes on as a job.', {
    Location: 'JobLocation',
  }),
  204: emptyAnswer('The record is deleted.', replayable),
};

/** How long a client waits for a delete that is done in steps; docs/records.md repeats it. */
const removalWaitMs = 10_000;

/** Describes the five operations on records. */
export function describeRecordRoutes({
  suffix,
  parameters,
  schemas,
  describe,
}: RecordDescription): Readonly<Record<'list' | 'create' | 'view' | 'update' | 'delete', OperationParts>> {
  const tag = 'records';
  const ofOne = [...parameters, 'RecordId'];
  return {
    list: {
      id: `listRecords${suffix}`,
      tag,
      summary: 'List records',
      ...described(describe?.('listRule')),
      parameters: [...parameters, ...listParameters, 'Cursor', 'Expand', 'Explain'],
      answers: {
        200: jsonAnswer('The records that the caller may list.', schemas.list, {
          'Server-Timing': 'ServerTiming',
        }),
      },
    },
    create: {
      id: `createRecord${suffix}`,
      tag,
      summary: 'Create a record',
      ...described(describe?.('createRule')),
      parameters: [...parameters, 'Expand', 'Fields', 'IdempotencyKey'],
      body: schemas.create,
      form: schemas.form,
      isBodyOptional: true,
      answers: { 201: jsonAnswer('The record.', schemas.record, { ...tagged, ...replayable }) },
      refusals: refusedWrites,
    },
    view: {
      id: `viewRecord${suffix}`,
      tag,
      summary: 'Get a record',
      ...described(describe?.('viewRule')),
      parameters: [...ofOne, 'Expand', 'Fields', 'IfNoneMatch'],
      answers: {
        200: jsonAnswer('The record.', schemas.record, tagged),
        304: emptyAnswer('The record still has the tag of `If-None-Match`.', tagged),
      },
    },
    update: {
      id: `updateRecord${suffix}`,
      tag,
      summary: 'Update a record',
      ...described(describe?.('updateRule')),
      parameters: [...ofOne, 'Expand', 'Fields', 'IfMatch', 'IdempotencyKey'],
      body: schemas.update,
      form: schemas.form,
      isBodyOptional: true,
      answers: { 200: jsonAnswer('The record.', schemas.record, { ...tagged, ...replayable }) },
      refusals: [...refusedWrites, 412],
    },
    delete: {
      id: `deleteRecord${suffix}`,
      tag,
      summary: 'Delete a record',
      ...described(describe?.('deleteRule')),
      parameters: [...ofOne, 'IfMatch', 'IdempotencyKey'],
      answers: deleteAnswers,
      refusals: [...refusedWrites, 412, 413, 415],
    },
  };
}

function described(description: string | undefined): { readonly description?: string } {
  return description === undefined ? {} : { description };
}

const anyRecord = describeRecordRoutes({
  suffix: '',
  parameters: ['Collection'],
  schemas: {
    record: schemaReference('AnyRecord'),
    list: schemaReference('RecordList'),
    create: schemaReference('RecordBody'),
    update: schemaReference('RecordBody'),
    form: recordFormSchema([]),
  },
});

/** Records have two paths each. */
export const recordPaths = {
  ofCollection: ['/api/collections/:collection/records', '/api/records/:collection'],
  ofRecord: ['/api/collections/:collection/records/:id', '/api/records/:collection/:id'],
} as const;

/** The five operations on records, under both of their paths. */
export const recordRoutes = [
  route({
    ...anyRecord.list,
    method: 'GET',
    path: recordPaths.ofCollection,
    scope: 'records:read',
    actions: ['list'],
    handle: async ({ instance, input, params, memory }) => {
      const { query } = input;
      const { texts, access } = await listRecords(instance, input, { ...params, query, memory });
      return { status: 200, texts, headers: timing(access) };
    },
  }),
  route({
    ...anyRecord.create,
    method: 'POST',
    path: recordPaths.ofCollection,
    scope: 'records:write',
    actions: ['create'],
    planForm: (context) => recordForm(context, 'createRule'),
    handle: async (context) => {
      const { instance, input, params, body } = context;
      const prepared = await prepareCreate(context, { ...params, body });
      return context.append(async (tx) => {
        const record = await createRecord({ instance, input, tx }, prepared);
        return recordAnswer({ instance, input, reader: tx }, record, 201);
      });
    },
  }),
  route({
    ...anyRecord.view,
    method: 'GET',
    path: recordPaths.ofRecord,
    scope: 'records:read',
    actions: ['view'],
    handle: async ({ instance, request, input, params }) => {
      const answer = await textAnswer(input.query, await readRecord(instance, input, params));
      // With `expand` a full answer is sent: expanded records have revisions of their own, which the tag does not cover.
      const isFresh =
        !input.query.get('expand') && isAlreadyKnown(request.headers['if-none-match'], answer.headers.etag);
      return isFresh ? { status: 304, headers: answer.headers } : answer;
    },
  }),
  route({
    ...anyRecord.update,
    method: 'PATCH',
    path: recordPaths.ofRecord,
    scope: 'records:write',
    actions: ['update'],
    planForm: (context) => recordForm(context, 'updateRule'),
    handle: async (context) => {
      const { instance, request, input, params, body } = context;
      const expected = expectedRevision(request.headers['if-match']);
      const prepared = await prepareUpdate(context, { ...params, body, expected });
      return context.change(params.id, async (tx) => {
        const record = await updateRecord({ instance, input, tx }, prepared);
        return recordAnswer({ instance, input, reader: tx }, record, 200);
      });
    },
  }),
  route({
    ...anyRecord.delete,
    method: 'DELETE',
    path: recordPaths.ofRecord,
    scope: 'records:write',
    actions: ['delete'],
    handle: async (context) => {
      const { instance, request, input, params } = context;
      const expected = expectedRevision(request.headers['if-match']);
      const prepared = await prepareDelete(context, { ...params, expected });
      try {
        return await context.write(async (tx) => {
          await deleteRecord({ instance, input, tx }, prepared);
          return nothing;
        });
      } catch (error) {
        if (error instanceof AppError && error.code === 'unavailable')
          await requireNotLeaving(instance.database, instance.collections.get(params.collection), params.id);
        if (!(error instanceof TooManyReferring)) throw error;
      }
      const { removals, isForOperator } = context.services;
      // A command waits: no process may go on behind it.
      const waitMs = isForOperator === true ? Number.POSITIVE_INFINITY : removalWaitMs;
      const { id, state } = await removals.remove(instance, input, { ...params, expected, waitMs });
      return state === 'done' ? nothing : { status: 202, headers: { location: `/api/jobs/${id}` } };
    },
  }),
];

/** Tells whether a list uses an index or reads a whole table (https://www.w3.org/TR/server-timing/). */
function timing(access: Access | undefined): Readonly<Record<string, string>> {
  return access === undefined ? {} : { 'server-timing': `query;desc="${access}"` };
}

/** What every record has, before the fields of its collection. */
export const recordMembers: Readonly<Record<string, Schema>> = {
  collectionId: { type: 'string' },
  collectionName: { type: 'string' },
};

/** A record as a form; `files` are the names of the fields that take files. */
export function recordFormSchema(files: readonly string[]): Schema {
  const named = files.length === 0 ? '' : ` (${files.map((name) => `\`${name}\``).join(', ')})`;
  return freeForm(
    `Values by the names of fields, as texts, and files under the names of their fields${named}. \`@jsonPayload\` is a JSON object with ` +
      'values of any type.',
  );
}

const anyRecordSchema: Schema = {
  type: 'object',
  description: 'A record: the members below, and the fields of its collection.',
  required: ['collectionId', 'collectionName', 'id'],
  properties: {
    ...recordMembers,
    id: { type: 'string', minLength: 1 },
    expand: schemaReference('Expanded'),
  },
  additionalProperties: true,
};

/** Records that `expand` asked for, by the names of the relations that lead to them. */
const expandedSchema: Schema = {
  type: 'object',
  additionalProperties: {
    // Two names for one schema: the clients of one generator import it twice where both are the same.
    oneOf: [schemaReference('AnyRecord'), { type: 'array', items: schemaReference('RelatedRecord') }],
  },
};

/** Records of any collection. */
export const recordSchemas: Readonly<Record<string, Schema>> = {
  AnyRecord: anyRecordSchema,
  RelatedRecord: anyRecordSchema,
  Expanded: expandedSchema,
  RecordList: cursorListSchema(schemaReference('AnyRecord')),
  RecordBody: {
    type: 'object',
    description:
      'Values by the names of fields; unknown names are ignored. `views+`, `tags+`, `+tags`, `tags-` and `code:autogenerate` change ' +
      'the current value.',
    additionalProperties: true,
  },
};
