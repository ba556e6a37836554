import { listSchemaJobs, listSchemaResults, type SchemaResult } from '../../../operator/list-schema-jobs.ts';
import {
  cancelSchemaJob,
  getSchemaJob,
  retrySchemaJob,
  type SchemaJob,
  schemaJobLimits,
  schemaJobStates,
  schemaResultStates,
} from '../../../operator/schema-jobs.ts';
import { requestSchema } from '../../../operator/schema-request.ts';
import type { Answer } from '../../answer.ts';
import { errorEnvelope } from '../../error-response.ts';
import type { OperatorContext } from '../../operator-context.ts';
import { operatorRoute } from '../../route.ts';
import { jsonAnswer } from '../../schemas/operation.ts';
import { listParameters } from '../../schemas/parameters.ts';
import { listSchema, objectSchema, type Schema, schemaReference } from '../../schemas/schema.ts';

const common = { tag: 'operator' } as const;
const onOne = {
  ...common,
  parameters: ['SchemaJobId', 'Fields'],
  answers: { 200: jsonAnswer('The job.', schemaReference('SchemaJob')) },
} as const;

/** One definition for the collections of many instances, for the programs of the operator. */
export const operatorSchemaRoutes = [
  operatorRoute({
    ...common,
    method: 'PUT',
    path: '/schema',
    id: 'applySchema',
    scope: 'instances:write',
    summary: 'Bring the collections of many instances to one definition, by a job',
    description: `Each instance gets an import of its own, all of it or nothing. At most ${schemaJobLimits.instancesMax} instances. To repeat it is harmless.`,
    parameters: ['IdempotencyKey', 'Fields'],
    body: schemaReference('SchemaJobCreate'),
    answers: {
      202: jsonAnswer('The job, which goes on.', schemaReference('SchemaJob'), {
        'Idempotent-Replayed': 'Replayed',
      }),
    },
    refusals: [409, 422, 429, 507],
    handle: async (context) => {
      const { operator, body, actor, idempotent } = context;
      const request = { body, actor, idempotent, present: jobJson };
      const { json, isReplayed } = await requestSchema(operator, request);
      const headers = isReplayed ? { 'idempotent-replayed': 'true' } : {};
      return context.answer(json, { status: 202, headers });
    },
  }),
  operatorRoute({
    ...common,
    method: 'GET',
    path: '/schema',
    id: 'listSchemaJobs',
    scope: 'instances:read',
    summary: 'List the schema jobs',
    description: 'Filter and sort by `id`, `state`, `dryRun`, `created`, `started`, `ended` and `total`.',
    parameters: listParameters,
    answers: { 200: jsonAnswer('The jobs.', schemaReference('SchemaJobList')) },
    handle: async (context) =>
      context.answerList(await listSchemaJobs(context.operator, context.listQuery), jobJson),
  }),
  operatorRoute({
    ...onOne,
    method: 'GET',
    path: '/schema/:job',
    id: 'getSchemaJob',
    scope: 'instances:read',
    summary: 'Get the progress of a schema job',
    handle: async (context) =>
      context.answer(jobJson(await getSchemaJob(context.operator.database, context.params.job))),
  }),
  operatorRoute({
    ...common,
    method: 'GET',
    path: '/schema/:job/results',
    id: 'listSchemaResults',
    scope: 'instances:read',
    summary: 'List what came of each instance of a schema job',
    description: 'Filter and sort by `instance`, `slug`, `state` and `ended`.',
    parameters: ['SchemaJobId', ...listParameters],
    answers: { 200: jsonAnswer('The results.', schemaReference('SchemaResultList')) },
    handle: async (context) => {
      const { operator, params, listQuery } = context;
      return context.answerList(await listSchemaResults(operator, params.job, listQuery), resultJson);
    },
  }),
  operatorRoute({
    ...onOne,
    method: 'POST',
    path: '/schema/:job/cancel',
    id: 'cancelSchemaJob',
    scope: 'instances:write',
    summary: 'Cancel a schema job: no further instance is begun',
    refusals: [409, 413, 415, 507],
    handle: (context) => takeStep(context, 'cancel'),
  }),
  operatorRoute({
    ...onOne,
    method: 'POST',
    path: '/schema/:job/retry',
    id: 'retrySchemaJob',
    scope: 'instances:write',
    summary: 'Repeat a schema job that is over, for the instances that have failed or were skipped',
    refusals: [409, 413, 415, 507],
    handle: (context) => takeStep(context, 'retry'),
  }),
];

const steps = {
  cancel: { run: cancelSchemaJob, action: 'schema.cancel' },
  retry: { run: retrySchemaJob, action: 'schema.retry' },
} as const;

async function takeStep(
  context: OperatorContext<{ readonly job: string }>,
  name: keyof typeof steps,
): Promise<Answer> {
  const { operator, params, actor } = context;
  const { run, action } = steps[name];
  const job = await operator.database.write(async (tx) => {
    const changed = await run(tx, params.job, operator.clock.now());
    await operator.audit.append(tx, actor, { action, target: changed.id });
    return changed;
  });
  return context.answer(jobJson(job));
}

/** A job as the API shows it. */
function jobJson({ counts, stopAfter, ...job }: SchemaJob): string {
  const done = job.total - counts.waiting - counts.running;
  return JSON.stringify({ ...job, stopAfter: stopAfter === 0 ? null : stopAfter, done, ...counts });
}

function resultJson({ error, ...result }: SchemaResult): string {
  return JSON.stringify({ ...result, error: error && errorEnvelope(error) });
}

const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const count: Schema = { type: 'integer', minimum: 0 };
const texts: Schema = { type: 'array', items: text };
const stopAfter: Schema = {
  type: ['integer', 'null'],
  minimum: 1,
  description: 'After so many failures no further instance is begun; null for any number.',
};

export const operatorSchemaSchemas: Readonly<Record<string, Schema>> = {
  SchemaJobCreate: objectSchema(
    {
      instances: {
        anyOf: [text, texts],
        description:
          'A filter as that of the list of instances, which selects all when it is empty; or slugs or ids.',
      },
      collections: {
        type: 'array',
        items: { type: 'object', additionalProperties: true },
        description: 'Definitions, as an import takes them.',
      },
      deleteMissing: { ...flag, description: 'As an import takes it.' },
      dryRun: { ...flag, description: 'Changes nothing: the results say what would be changed or refused.' },
      stopAfter,
    },
    ['deleteMissing', 'dryRun', 'stopAfter'],
  ),
  SchemaJob: objectSchema({
    id: text,
    state: {
      type: 'string',
      enum: schemaJobStates,
      description: 'When it is over: `failed` if any instance has failed, otherwise `done`, or `cancelled`.',
    },
    dryRun: flag,
    deleteMissing: flag,
    stopAfter,
    created: text,
    started: { ...text, description: 'Empty before it begins.' },
    ended: { ...text, description: 'Empty before it is over.' },
    total: { ...count, description: 'Its instances, fixed when it is created.' },
    done: { ...count, description: 'Those that are neither waiting nor running.' },
    ...Object.fromEntries(schemaResultStates.map((state) => [state, count])),
  }),
  SchemaJobList: listSchema(schemaReference('SchemaJob')),
  SchemaResult: objectSchema({
    instance: { ...text, description: 'Id of the instance.' },
    slug: { ...text, description: 'Its slug when the job was created.' },
    state: { type: 'string', enum: schemaResultStates },
    changes: {
      type: 'array',
      description: 'What was changed or, in a dry run, would be.',
      items: objectSchema({
        collection: text,
        change: { type: 'string', enum: ['create', 'change', 'delete'] },
        added: { ...texts, description: '`field title`, `index by_title`' },
        changed: { ...texts, description: '`listRule`, `field title: max`' },
        removed: texts,
      }),
    },
    error: {
      anyOf: [schemaReference('ErrorBody'), { type: 'null' }],
      description: 'Why it has failed, as its import was answered, or why it was skipped.',
    },
    ended: { ...text, description: 'Empty before it ends.' },
  }),
  SchemaResultList: listSchema(schemaReference('SchemaResult')),
};
