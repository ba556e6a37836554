import type { PathItem, Paths, Schema } from './document.ts';
import { emptyAnswer, jsonAnswer, operation } from './operation.ts';
import { listParameters } from './parameters.ts';
import { schemaReference } from './reference.ts';

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
      parameters: [...parameters, ...listParameters, 'Cursor', 'Expand'],
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
