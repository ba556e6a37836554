import { listLimits } from '../../lists/list-limits.ts';
import type { Schema } from './document.ts';

/** The parameters of all operations, by the names they are referred to by. */
export const parameters: Readonly<Record<string, Schema>> = {
  Collection: inPath('collection', 'Name (in any case) or id of a collection.'),
  RecordId: inPath('id', 'Id of a record.'),
  EndpointId: inPath('id', 'Id of an endpoint.'),
  DeliveryId: inPath('id', 'Id of a delivery.'),
  ApiKeyId: inPath('id', 'Id of an API key.'),
  LogId: inPath('id', 'Id of an entry of the log.'),
  Page: inQuery('page', {
    description: 'Which page, from 1. Not together with `cursor`.',
    schema: { type: 'integer', minimum: 1, maximum: listLimits.pageMax, default: 1 },
  }),
  PerPage: inQuery('perPage', {
    description: `Items of a page; more than ${listLimits.perPageMax} mean ${listLimits.perPageMax}.`,
    schema: {
      type: 'integer',
      minimum: 1,
      maximum: listLimits.perPageMax,
      default: listLimits.perPageDefault,
    },
  }),
  Sort: inQuery('sort', {
    description: 'Names to sort by, `-` before those that descend: `-created,title`. At most 8.',
    schema: { type: 'string' },
  }),
  Filter: inQuery('filter', {
    description:
      "Which items: `(status='open' && created>'2026-01-01')`. The language is in docs/filters.md.",
    schema: { type: 'string', maxLength: 3500 },
  }),
  SkipTotal: inQuery('skipTotal', {
    description: 'Leaves the items uncounted: `totalItems` and `totalPages` are -1.',
    schema: { type: 'boolean', default: false },
  }),
  Cursor: inQuery('cursor', {
    description:
      'Empty to start, then the `nextCursor` of the answer before: deep pages cost what the first one does. Only with the same ' +
      'filter and sort, by the same caller, and not with `page` or `@random`.',
    schema: { type: 'string' },
  }),
  Fields: inQuery('fields', {
    description:
      'The members to answer: `id,title:excerpt(100),expand.author.name`, and `*` for all others. Members that are required in a schema are ' +
      'then missing where they were not asked for. Of a list it selects members of the items.',
    schema: { type: 'string', maxLength: listLimits.fieldsLengthMax },
  }),
  MfaId: inQuery('mfaId', {
    description: 'Of the answer to the first of two ways to sign in, unless the body has it.',
    schema: { type: 'string' },
  }),
  Expand: inQuery('expand', {
    description:
      'Relations to follow: `author,comments_via_post.by`. What the caller may not view is left out. The records stand in `expand`.',
    schema: { type: 'string' },
  }),
  IfMatch: inHeader('If-Match', {
    description: '`*`, or the `ETag` of an answer: only a record that still has that revision is changed.',
    schema: { type: 'string' },
  }),
  IfNoneMatch: inHeader('If-None-Match', {
    description: 'The `ETag` of an answer: 304 when this one would be the same. Of no meaning with `expand`.',
    schema: { type: 'string' },
  }),
  IdempotencyKey: inHeader('Idempotency-Key', {
    description:
      'The same request under the same key is done once; for 24 hours it gets the same answer, with `Idempotent-Replayed: true`.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
  }),
};

/** The parameters of every list. */
export const listParameters = ['Page', 'PerPage', 'Sort', 'Filter', 'SkipTotal', 'Fields'] as const;

function inPath(name: string, description: string): Schema {
  return { name, in: 'path', required: true, description, schema: { type: 'string', minLength: 1 } };
}

interface Described {
  readonly description: string;
  readonly schema: Schema;
}

function inQuery(name: string, described: Described): Schema {
  return { name, in: 'query', ...described };
}

function inHeader(name: string, described: Described): Schema {
  return { name, in: 'header', ...described };
}
