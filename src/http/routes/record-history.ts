import { AppError } from '../../base/errors.ts';
import { isJsonObject } from '../../base/json.ts';
import { recordEventKinds } from '../../events/event.ts';
import { invalidValue, unknownMembers } from '../../fields/field-error.ts';
import { withCurrentDefinitions } from '../../instances/current-collection.ts';
import { readHistory } from '../../records/record-history.ts';
import { recordIdsJson } from '../../records/record.ts';
import { lossReasons } from '../../records/restored-values.ts';
import {
  type PreparedRevert,
  prepareRevert,
  type RevertResult,
  revertRecord,
} from '../../records/revert-record.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { expectedRevision, recordAnswer } from '../record-answer.ts';
import { route } from '../route.ts';

const common = { tag: 'records', isForSuperusers: true } as const;

/** The past of single records, from the event log. */
export const recordHistoryRoutes = [
  route({
    ...common,
    method: 'GET',
    path: '/api/collections/:collection/records/:id/history',
    id: 'listRecordHistory',
    scope: 'records:read',
    isCurrent: true,
    summary: 'List the changes of a record that the event log has, the newest first',
    description: 'Also of a deleted record. A page may be shorter than `perPage` if its values are large.',
    parameters: ['Collection', 'RecordId', 'PerPage', 'Cursor', 'Fields'],
    answers: { 200: jsonAnswer('The changes.', schemaReference('RecordHistory')) },
    handle: async (context) => {
      const { instance, params, caller, listQuery: query } = context;
      const request = { ...params, caller, query };
      return context.answer(
        JSON.stringify(await withCurrentDefinitions(() => readHistory(instance, request))),
      );
    },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/api/collections/:collection/records/:id/revert',
    id: 'revertRecord',
    scope: 'records:write',
    isCurrent: true,
    summary: 'Revert a record to a state in the event log, or undelete it',
    description:
      'An ordinary update, or an ordinary create with the same id, with its own event. The answer names what is not brought back. An API key also needs `records:read`.',
    parameters: ['Collection', 'RecordId', 'IfMatch', 'IdempotencyKey'],
    body: schemaReference('RevertBody'),
    answers: { 200: jsonAnswer('What was done.', schemaReference('RevertedRecord'), { ETag: 'EntityTag' }) },
    refusals: [409, 412, 422, 507],
    handle: async (context) => {
      const { instance, request, input, params, body } = context;
      const { to, values } = decodeBody(body);
      const expected = expectedRevision(request.headers['if-match']);
      const revert = { ...params, to, values, expected };
      const prepared = await withCurrentDefinitions(() => prepareRevert(context, revert));
      return context.write(async (tx) => {
        const reverted = await revertRecord({ instance, input, tx }, prepared);
        const answer = await recordAnswer({ instance, input, reader: tx }, reverted.record, 200);
        return {
          ...answer,
          json: answerOf(prepared, reverted, answer.json),
          idsJson: () => answerOf(prepared, reverted, recordIdsJson(reverted.record)),
        };
      });
    },
  }),
];

interface RevertBody {
  readonly to: unknown;
  readonly values: Readonly<Record<string, unknown>>;
}

function decodeBody(body: Readonly<Record<string, unknown>>): RevertBody {
  const { to, values = {} } = body;
  const details = { ...unknownMembers(body, ['to', 'values']) };
  if (!isJsonObject(values)) details['values'] = invalidValue('Must be an object.');
  if (isJsonObject(values) && Object.keys(details).length === 0) return { to, values };
  throw new AppError('bad_request', 'Failed to revert record.', { details });
}

function answerOf(
  { event, released }: PreparedRevert,
  { action, losses }: RevertResult,
  record: string,
): string {
  const { id, kind, revision, created } = event;
  const members = { action, from: { event: id, kind, revision, created }, notRestored: losses, released };
  return `${JSON.stringify(members).slice(0, -1)},"record":${record}}`;
}

const text: Schema = { type: 'string' };
const revision: Schema = { type: 'integer', minimum: 1 };

export const recordHistorySchemas: Readonly<Record<string, Schema>> = {
  RecordHistory: objectSchema({
    items: { type: 'array', items: schemaReference('RecordVersion') },
    perPage: { type: 'integer', minimum: 1 },
    nextCursor: { type: ['string', 'null'], description: 'Null at the end.' },
    revision: {
      type: 'integer',
      minimum: 0,
      description: 'The revision of the record now; 0 if there is none.',
    },
    trimmed: {
      type: 'string',
      description: 'The time up to which events are not kept any more; empty if all are.',
    },
  }),
  RecordVersion: objectSchema({
    id: { type: 'string', description: 'The id of the event.' },
    kind: { type: 'string', enum: recordEventKinds },
    revision,
    created: text,
    actor: { type: 'string', description: 'The author of the change, as an event has it.' },
    changed: { type: 'array', items: text, description: 'The visible fields that an update has changed.' },
    expunged: { type: 'string', description: 'When its values were expunged; empty if they were not.' },
    data: {
      type: ['object', 'null'],
      additionalProperties: true,
      description:
        'The values after the change, of a deletion the last ones, under the names of that time; hidden fields included. Null if they were expunged.',
    },
  }),
  RevertBody: objectSchema(
    {
      to: {
        type: ['string', 'integer'],
        description: 'The id of an event of the record, a revision, or a time.',
      },
      values: {
        type: 'object',
        additionalProperties: true,
        description: 'Values to set as well, which come before those of the event.',
      },
    },
    ['values'],
  ),
  RevertedRecord: objectSchema({
    action: { type: 'string', enum: ['created', 'updated', 'unchanged'] },
    from: objectSchema({
      event: text,
      kind: { type: 'string', enum: recordEventKinds },
      revision,
      created: text,
    }),
    notRestored: {
      type: 'array',
      description: 'The fields whose past values are not brought back.',
      items: objectSchema(
        {
          field: text,
          reason: { type: 'string', enum: lossReasons },
          message: text,
          values: { type: 'array', items: text, description: 'Names of files, or ids of records.' },
        },
        ['values'],
      ),
    },
    released: {
      type: 'array',
      description:
        'Of an undelete: records that the delete has changed or deleted as well, at most 100. They stay as they are.',
      items: objectSchema({
        collection: text,
        record: text,
        kind: { type: 'string', enum: ['record.update', 'record.delete'] },
        event: { type: 'string', description: 'The id of the event.' },
        revision: { ...revision, description: 'The revision to which it can be reverted.' },
      }),
    },
    record: schemaReference('AnyRecord'),
  }),
};
