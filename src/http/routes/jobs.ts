import type { Caller } from '../../access/caller.ts';
import { notFound } from '../../base/errors.ts';
import { readJob, type RemovalJob } from '../../records/removal-store.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

/** Work that goes on after its request was answered. */
export const jobRoutes = [
  route({
    method: 'GET',
    path: '/api/jobs/:id',
    id: 'getJob',
    tag: 'records',
    scope: 'records:write',
    summary: 'Get the progress of a delete in steps',
    description: 'For the caller of the delete, and for superusers.',
    parameters: ['JobId', 'Fields'],
    answers: { 200: jsonAnswer('The job.', schemaReference('Job')) },
    handle: async (context) => {
      const { instance, params, caller } = context;
      const job = await readJob(instance.database, params.id);
      if (job === undefined || !maySee(caller, job)) throw notFound();
      return context.answer(jobJson(job));
    },
  }),
];

/** A guest is whoever knows the id, which cannot be guessed. */
function maySee(caller: Caller, { input }: RemovalJob): boolean {
  const owner = input.caller;
  if (caller.kind === 'superuser') return caller.key === undefined || sameKey(caller, owner);
  if (caller.kind === 'user')
    return owner.kind === 'user' && owner.id === caller.id && owner.collectionId === caller.collectionId;
  return owner.kind === 'guest';
}

function sameKey(caller: Extract<Caller, { kind: 'superuser' }>, owner: Caller): boolean {
  return (
    caller.key?.scopes.includes('admin') === true || (owner.kind === 'superuser' && owner.id === caller.id)
  );
}

/** Returns a job as the API shows it. */
function jobJson(job: RemovalJob): string {
  const { id, collection, record, state, leavingCount, deleted, changed, cause, created, updated } = job;
  // Only the bookkeeping is left, which is internal.
  const publicState = state === 'stopping' ? 'failed' : state;
  return JSON.stringify({
    id,
    kind: 'record.delete',
    collection,
    record,
    state: publicState,
    found: leavingCount,
    deleted,
    changed,
    cause,
    created,
    updated,
  });
}

export const jobSchemas: Readonly<Record<string, Schema>> = {
  Job: objectSchema({
    id: { type: 'string' },
    kind: { type: 'string', const: 'record.delete' },
    collection: { type: 'string', description: 'The id of the collection.' },
    record: { type: 'string', description: 'The id of the record, which is deleted last.' },
    state: {
      type: 'string',
      enum: ['checking', 'running', 'done', 'failed'],
      description: 'Nothing changes while it is `checking`.',
    },
    found: { type: 'integer', description: 'Records to delete, as far as discovered.' },
    deleted: { type: 'integer' },
    changed: { type: 'integer', description: 'Records that were saved without the reference.' },
    cause: { type: 'string', description: 'Why it failed; empty otherwise.' },
    created: { type: 'string' },
    updated: { type: 'string' },
  }),
};
