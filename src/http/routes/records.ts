import type { FastifyInstance } from 'fastify';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { prepareCreate } from '../../records/create-record.ts';
import { prepareDelete } from '../../records/delete-record.ts';
import { listRecords } from '../../records/list-records.ts';
import { readRecord } from '../../records/read-record.ts';
import { prepareUpdate } from '../../records/update-record.ts';
import type { Access } from '../../query/explain-list.ts';
import { answerWrite } from '../answer-write.ts';
import { answer, sendAnswer } from '../answer.ts';
import { bodyOf } from '../body.ts';
import { emptyAnswer, jsonAnswer, listParameters, operation } from '../openapi/operation.ts';
import {
  cursorListSchema,
  type PathItem,
  type Paths,
  type Schema,
  schemaReference,
} from '../openapi/schema.ts';
import { expectedRevision, isAlreadyKnown, recordAnswer, rowAnswer } from '../record-answer.ts';
import { onInstance } from '../route.ts';
import { ruleInput } from '../rule-input.ts';

interface CollectionPath {
  Params: { collection: string };
}

interface RecordPath {
  Params: { collection: string; id: string };
}

/** The five operations on records, under both of their paths. */
export function recordRoutes(app: FastifyInstance, instances: OpenInstances): void {
  for (const path of ['/api/collections/:collection/records', '/api/records/:collection']) {
    app.get<CollectionPath>(
      path,
      onInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
        const { collection } = request.params;
        const facts = ruleInput(request, caller);
        const { json, access } = await listRecords(instance, facts, { collection, query: facts.query });
        return answer(request, reply, { json, isList: true, headers: timing(access) });
      }),
    );

    app.post<CollectionPath>(
      path,
      onInstance<CollectionPath>(instances, async ({ instance, caller }, request, reply) => {
        const { collection } = request.params;
        const facts = ruleInput(request, caller);
        const write = await prepareCreate(instance, facts, { collection, body: bodyOf(request) });
        return answerWrite(
          { instance, caller },
          { request, reply, options: { isAppending: true } },
          async (tx) => recordAnswer({ instance, facts, reader: tx }, await write(tx), 201),
        );
      }),
    );

    app.get<RecordPath>(
      `${path}/:id`,
      onInstance<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
        const facts = ruleInput(request, caller);
        const shown = rowAnswer(facts.query, await readRecord(instance, facts, request.params));
        // With `expand` a full answer is sent: expanded records have revisions of their own, which the tag does not cover.
        const isFresh =
          !facts.query.get('expand') && isAlreadyKnown(request.headers['if-none-match'], shown.headers.etag);
        return sendAnswer(request, reply, isFresh ? { status: 304, headers: shown.headers } : shown);
      }),
    );

    app.patch<RecordPath>(
      `${path}/:id`,
      onInstance<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
        const { collection, id } = request.params;
        const facts = ruleInput(request, caller);
        const expected = expectedRevision(request.headers['if-match']);
        const body = bodyOf(request);
        const write = await prepareUpdate(instance, facts, { collection, id, body, expected });
        return answerWrite({ instance, caller }, { request, reply, options: { changes: id } }, async (tx) =>
          recordAnswer({ instance, facts, reader: tx }, await write(tx), 200),
        );
      }),
    );

    app.delete<RecordPath>(
      `${path}/:id`,
      onInstance<RecordPath>(instances, async ({ instance, caller }, request, reply) => {
        const expected = expectedRevision(request.headers['if-match']);
        const facts = ruleInput(request, caller);
        const write = await prepareDelete(instance, facts, { ...request.params, expected });
        return answerWrite({ instance, caller }, { request, reply }, async (tx) => {
          await write(tx);
          return { status: 204 };
        });
      }),
    );
  }
}

/** Tells whether a list uses an index or reads a whole table (https://www.w3.org/TR/server-timing/). */
function timing(access: Access | undefined): Readonly<Record<string, string>> {
  return access === undefined ? {} : { 'server-timing': `query;desc="${access}"` };
}

export interface RecordOperations {
  /** Appended to each operation's id, as ids must be unique in a document. */
  readonly suffix: string;
  /** Parameters of the path; those of the query follow. */
  readonly parameters: readonly string[];
  readonly schemas: {
    readonly record: Schema;
    readonly list: Schema;
    readonly create: Schema;
    readonly update: Schema;
  };
  /** Text for each description; absent for none. */
  readonly describe?: (rule: 'listRule' | 'viewRule' | 'createRule' | 'updateRule' | 'deleteRule') => string;
}

const shown = ['Expand', 'Fields'] as const;
const tag = 'records';
const tagged = { ETag: 'EntityTag' } as const;
const replayable = { 'Idempotent-Replayed': 'Replayed' } as const;
const refusedWrites = [409, 422, 507] as const;

const general = {
  record: schemaReference('Record'),
  list: schemaReference('RecordList'),
  create: schemaReference('RecordBody'),
  update: schemaReference('RecordBody'),
};

/** The five operations on records, under both of their paths. */
export const recordPaths: Paths = {
  ...pathsAt('/api/collections/{collection}/records', ''),
  ...pathsAt('/api/records/{collection}', 'ByAlias'),
};

function pathsAt(path: string, suffix: string): Paths {
  const operations = { suffix, parameters: ['Collection'], schemas: general };
  return { [path]: recordsItem(operations), [`${path}/{id}`]: recordItem(operations) };
}

/** Listing and creating. */
export function recordsItem({ suffix, parameters, schemas, describe }: RecordOperations): PathItem {
  return {
    get: operation({
      id: `listRecords${suffix}`,
      tag,
      summary: 'A page of records',
      ...described(describe?.('listRule')),
      parameters: [...parameters, ...listParameters, 'Cursor', 'Expand', 'Explain'],
      answers: {
        200: jsonAnswer('The records that the caller may list.', schemas.list, {
          'Server-Timing': 'ServerTiming',
        }),
      },
    }),
    post: operation({
      id: `createRecord${suffix}`,
      tag,
      summary: 'Create a record',
      ...described(describe?.('createRule')),
      parameters: [...parameters, ...shown, 'IdempotencyKey'],
      body: schemas.create,
      isBodyOptional: true,
      answers: { 201: jsonAnswer('The record.', schemas.record, { ...tagged, ...replayable }) },
      refusals: refusedWrites,
    }),
  };
}

/** Viewing, updating and deleting. */
export function recordItem({ suffix, parameters, schemas, describe }: RecordOperations): PathItem {
  const path = [...parameters, 'RecordId'];
  return {
    get: operation({
      id: `viewRecord${suffix}`,
      tag,
      summary: 'A record',
      ...described(describe?.('viewRule')),
      parameters: [...path, ...shown, 'IfNoneMatch'],
      answers: {
        200: jsonAnswer('The record.', schemas.record, tagged),
        304: emptyAnswer('The record is as `If-None-Match` knows it.', tagged),
      },
    }),
    patch: operation({
      id: `updateRecord${suffix}`,
      tag,
      summary: 'Change members of a record',
      ...described(describe?.('updateRule')),
      parameters: [...path, ...shown, 'IfMatch', 'IdempotencyKey'],
      body: schemas.update,
      isBodyOptional: true,
      answers: { 200: jsonAnswer('The record.', schemas.record, { ...tagged, ...replayable }) },
      refusals: [...refusedWrites, 412],
    }),
    delete: operation({
      id: `deleteRecord${suffix}`,
      tag,
      summary: 'Delete a record',
      ...described(describe?.('deleteRule')),
      parameters: [...path, 'IfMatch', 'IdempotencyKey'],
      answers: { 204: emptyAnswer('The record is deleted.', replayable) },
      refusals: [...refusedWrites, 412, 413, 415],
    }),
  };
}

function described(description: string | undefined): { readonly description?: string } {
  return description === undefined ? {} : { description };
}

/** What every record has, before the fields of its collection. */
export const recordMembers: Readonly<Record<string, Schema>> = {
  collectionId: { type: 'string' },
  collectionName: { type: 'string' },
};

/** Records that `expand` asked for, by the names of the relations that lead to them. */
const expandedSchema: Schema = {
  type: 'object',
  additionalProperties: {
    oneOf: [schemaReference('Record'), { type: 'array', items: schemaReference('Record') }],
  },
};

/** Records of any collection. */
export const recordSchemas: Readonly<Record<string, Schema>> = {
  Record: {
    type: 'object',
    description: 'A record: the members below, and the fields of its collection.',
    required: ['collectionId', 'collectionName', 'id'],
    properties: {
      ...recordMembers,
      id: { type: 'string', minLength: 1 },
      expand: schemaReference('Expanded'),
    },
    additionalProperties: true,
  },
  Expanded: expandedSchema,
  RecordList: cursorListSchema(schemaReference('Record')),
  RecordBody: {
    type: 'object',
    description:
      'Values by the names of fields; unknown names are ignored. `views+`, `tags+`, `+tags`, `tags-` and `code:autogenerate` change ' +
      'the value that is there.',
    additionalProperties: true,
  },
};
