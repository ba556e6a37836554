import { togetherOf } from '../../logs/add-usage.ts';
import { listLimits } from '../../query/list-parameters.ts';
import type { Schema } from './schema.ts';

/** The parameters of all operations, by the names they are referred to by. */
export const parameters: Readonly<Record<string, Schema>> = {
  Collection: inPath('collection', 'Name (in any case) or id of a collection.'),
  RecordId: inPath('id', 'Id of a record.'),
  CheckRecords: inQuery('checkRecords', {
    description:
      '`true` to do the import in a transaction that is rolled back: what the records refuse is refused as well. Other writes wait meanwhile.',
    schema: { type: 'boolean', default: false },
  }),
  FileRecord: inPath('record', 'Id of a record.'),
  FileName: inPath('name', 'Name of a file, as the record has it.'),
  Thumb: inQuery('thumb', {
    description:
      'Size of the image: `100x100`, or one that the field allows. Any other value returns the original.',
    schema: { type: 'string' },
  }),
  FileToken: inQuery('token', {
    description: 'Authenticates the caller for a protected file.',
    schema: { type: 'string' },
  }),
  Download: inQuery('download', {
    description: '`true` to download the file rather than display it.',
    schema: { type: 'string' },
  }),
  SearchText: inQuery('text', {
    description: 'What to search for, without regard to case.',
    required: true,
    schema: { type: 'string', minLength: 2, maxLength: 100 },
  }),
  EndpointId: inPath('id', 'Id of an endpoint.'),
  DeliveryId: inPath('id', 'Id of a delivery.'),
  EventId: inPath('id', 'Id of an event.'),
  ReplayId: inPath('id', 'Id of a replay.'),
  JobId: inPath('id', 'Id of a job.'),
  SchemaJobId: inPath('job', 'Id of a schema job.'),
  CatcherId: inPath('id', 'Id of a catcher.'),
  CatcherStatus: inQuery('status', {
    description: 'The status that the catcher answers with, 200 to 599.',
    schema: { type: 'integer', minimum: 200, maximum: 599, default: 200 },
  }),
  ConsumerName: inPath('name', 'Name of a consumer of the feed: up to 64 letters, digits and `_.-`.'),
  FeedCursor: inQuery('cursor', {
    description: 'The `nextCursor` of the previous answer; empty for the beginning of the log.',
    schema: { type: 'string' },
  }),
  Since: inQuery('since', { description: 'Start at this time.', schema: { type: 'string' } }),
  Consumer: inQuery('consumer', {
    description: 'Start at the position of this consumer, which only a `PUT` moves.',
    schema: { type: 'string' },
  }),
  Wait: inQuery('wait', {
    description: 'Seconds to wait for an event while there is none.',
    schema: { type: 'integer', minimum: 0, maximum: 30, default: 0 },
  }),
  Transitions: inQuery('transitions', {
    description:
      'With `true` and a `filter`: a change by which a record comes to meet the filter is a creation, and one by which it meets it no more a deletion.',
    schema: { type: 'boolean', default: false },
  }),
  FeedPerPage: inQuery('perPage', {
    description: 'Maximum number of events. An answer may have fewer although more follow.',
    schema: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
  }),
  Events: inQuery('events', {
    description: 'Kinds of events, separated by commas; all when empty.',
    schema: { type: 'string' },
  }),
  Collections: inQuery('collections', {
    description: 'Names or ids of collections, separated by commas; all when empty.',
    schema: { type: 'string' },
  }),
  Signed: inQuery('signed', {
    description:
      'Id of an endpoint: each event then has the headers that this endpoint gets. An API key needs the scope webhooks:write.',
    schema: { type: 'string' },
  }),
  EventFilter: inQuery('filter', {
    description: 'Only events whose record matches this filter, with the values of the event.',
    schema: { type: 'string' },
  }),
  From: inQuery('from', {
    description: 'The start, a date; 24 hours before `to` by default.',
    schema: { type: 'string' },
  }),
  To: inQuery('to', {
    description: 'The end, a date; now by default.',
    schema: { type: 'string' },
  }),
  FiguresSince: inQuery('since', {
    description: 'The first day, a date in UTC; by default 30 days are returned.',
    schema: { type: 'string' },
  }),
  FiguresUntil: inQuery('until', {
    description: 'The last day, a date in UTC; today by default.',
    schema: { type: 'string' },
  }),
  FiguresWithin: inQuery('within', {
    description: 'Up to five numbers of seconds, of two digits at most each.',
    schema: { type: 'string', default: '5,60' },
  }),
  Step: inQuery('step', {
    description: 'Granularity: at most 744 hours or days. Days by default for more than a week.',
    schema: { type: 'string', enum: ['hour', 'day'] },
  }),
  UsageStep: inQuery('step', {
    description: 'Granularity.',
    schema: { type: 'string', enum: ['day', 'hour'], default: 'day' },
  }),
  UsageBy: inQuery('by', {
    description: 'What they have used most of.',
    schema: { type: 'string', enum: Object.keys(togetherOf), default: 'requests' },
  }),
  UsageTop: inQuery('top', {
    description: 'How many instances.',
    schema: { type: 'integer', minimum: 1, maximum: 1_000, default: 20 },
  }),
  UsageInstances: inQuery('instances', {
    description: 'Only these instances: at most 200 ids, separated by commas.',
    schema: { type: 'string' },
  }),
  OperatorOrder: inQuery('order', {
    description: 'With `desc` the latest event comes first, and `cursor` continues with older ones.',
    schema: { type: 'string', enum: ['asc', 'desc'], default: 'asc' },
  }),
  EndpointInclude: inQuery('include', {
    description: '`stats` adds to each endpoint how it does.',
    schema: { type: 'string', enum: ['stats'] },
  }),
  WhyEndpoint: inQuery('endpoint', {
    description: 'Only the endpoint with this id.',
    schema: { type: 'string' },
  }),
  RecordStory: inQuery('record', {
    description: 'Only events of this record: `{collection}/{id}`.',
    schema: { type: 'string' },
  }),
  EventCollection: inQuery('collection', {
    description: 'Only events of this collection: its name or id.',
    schema: { type: 'string' },
  }),
  CronId: inPath('id', 'Id of a scheduled job.'),
  BackupKey: inPath('key', 'Name of a backup.'),
  ManagedInstance: inPath('instance', 'Slug or id of an instance.'),
  Template: inQuery('template', {
    description: '`true` for an archive without records, accounts, endpoints, keys and secrets.',
    schema: { type: 'boolean', default: false },
  }),
  ImportSlug: {
    ...inQuery('slug', { description: 'The slug of the instance.', schema: { type: 'string' } }),
    required: true,
  },
  ImportHost: inQuery('host', {
    description: 'The host that it answers on; none by default.',
    schema: { type: 'string' },
  }),
  ImportCopy: inQuery('copy', {
    description:
      '`true` to make another instance beside the one that the archive is of, with paused endpoints.',
    schema: { type: 'boolean', default: false },
  }),
  ImportBackup: inQuery('backup', {
    description: '`true` for a backup: what came after it is lost, and its cursors say so.',
    schema: { type: 'boolean', default: false },
  }),
  Passphrase: inHeader('Chancery-Passphrase', {
    description:
      'The passphrase that the archive was exported with, percent-encoded. Without one, its secrets are sealed with the master key of this service.',
    schema: { type: 'string' },
  }),
  OperatorEndpointId: inPath('endpoint', 'Id of an endpoint of the operator.'),
  OperatorCursor: inQuery('cursor', {
    description: 'The `nextCursor` of the previous answer; empty for the oldest event.',
    schema: { type: 'string' },
  }),
  ApiKeyId: inPath('id', 'Id of an API key.'),
  PortalLinkId: inPath('id', 'Id of a portal link.'),
  LogId: inPath('id', 'Id of an entry of the log.'),
  Page: inQuery('page', {
    description: 'Page number, from 1. Not together with `cursor`.',
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
    description: 'Names to sort by, with `-` for descending: `-created,title`. At most 8.',
    schema: { type: 'string' },
  }),
  Filter: inQuery('filter', {
    description:
      "Which items: `(status='open' && created>'2026-01-01')`. The language is in docs/filters.md.",
    schema: { type: 'string', maxLength: 3500 },
  }),
  SkipTotal: inQuery('skipTotal', {
    description: 'Skip the count: `totalItems` and `totalPages` are -1.',
    schema: { type: 'boolean', default: false },
  }),
  Cursor: inQuery('cursor', {
    description:
      'Empty to start, then the `nextCursor` of the previous answer: deep pages are as fast as the first one. Only with the same ' +
      'filter and sort, by the same caller, and not with `page` or `@random`.',
    schema: { type: 'string' },
  }),
  Fields: inQuery('fields', {
    description:
      'The members to return: `id,title:excerpt(100),expand.author.name`, and `*` for all others. Members that are required in a schema are ' +
      'then missing unless selected. In a list it selects members of the items.',
    schema: { type: 'string', maxLength: listLimits.fieldsLengthMax },
  }),
  OAuth2State: inQuery('state', {
    description: 'The id of the realtime client that began the sign-in.',
    schema: { type: 'string', maxLength: 255 },
  }),
  OAuth2Code: inQuery('code', {
    description: 'The code of the provider.',
    schema: { type: 'string', maxLength: 8_192 },
  }),
  OAuth2Error: inQuery('error', {
    description: 'The error of the provider.',
    schema: { type: 'string', maxLength: 8_192 },
  }),
  MfaId: inQuery('mfaId', {
    description: 'The `mfaId` from the answer to the first factor, unless the body has it.',
    schema: { type: 'string' },
  }),
  Expand: inQuery('expand', {
    description:
      'Relations to follow: `author,comments_via_post.by`. Records that the caller may not view are omitted. The records are in `expand`.',
    schema: { type: 'string' },
  }),
  Explain: inQuery('explain', {
    description:
      'Adds `Server-Timing` with the access path of the query. Ignored for callers who are not superusers.',
    schema: { type: 'boolean', default: false },
  }),
  IfMatch: inHeader('If-Match', {
    description:
      '`*`, or the `ETag` of an answer: the change applies only if the record still has that revision.',
    schema: { type: 'string' },
  }),
  IfNoneMatch: inHeader('If-None-Match', {
    description: 'The `ETag` of an answer: 304 if this one would be the same. Ignored with `expand`.',
    schema: { type: 'string' },
  }),
  IdempotencyKey: inHeader('Idempotency-Key', {
    description:
      'The same request under the same key runs once; for 24 hours a repetition gets the same answer, with `Idempotent-Replayed: true`.',
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
  readonly required?: true;
  readonly schema: Schema;
}

function inQuery(name: string, described: Described): Schema {
  return { name, in: 'query', ...described };
}

function inHeader(name: string, described: Described): Schema {
  return { name, in: 'header', ...described };
}
