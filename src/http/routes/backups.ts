import { verifyRecordToken } from '../../auth/tokens.ts';
import { tokenRequired } from '../../auth/authenticate.ts';
import { AppError, notFound } from '../../base/errors.ts';
import { toTimestamp } from '../../base/timestamp.ts';
import { hasScope } from '../../access/caller.ts';
import { fieldError, invalidValue } from '../../fields/field-error.ts';
import { UploadedFile } from '../../files/uploads.ts';
import { callerOf } from '../../instances/token-secrets.ts';
import type { AuditEntry } from '../../logs/audit-entry.ts';
import { backupName, isChosenName } from '../../backups/backup-names.ts';
import { isBackupName } from '../../backups/backup-place.ts';
import type { BackupStatus } from '../../backups/instance-backups.ts';
import type { Schedule } from '../../backups/schedule-store.ts';
import type { NewTransfer, TransferJob } from '../../backups/job-store.ts';
import { type Answer, nothing } from '../answer.ts';
import { fileAnswer } from '../file-answer.ts';
import type { FormPlan } from '../receive-form.ts';
import type { RequestContext } from '../request-context.ts';
import { type FormContext, route } from '../route.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';

const common = { tag: 'backups', isForSuperusers: true } as const;
const ofOne = { parameters: ['BackupKey'] } as const;

/** Larger ones are imported by the operator, from a file. */
const uploadBytesMax = 16 * 1024 ** 3;

/** Backups of an instance, as archives. */
export const backupRoutes = [
  route({
    ...common,
    method: 'GET',
    path: '/api/backups',
    id: 'listBackups',
    summary: 'List the backups, the newest first',
    isCurrent: true,
    parameters: ['Fields'],
    answers: {
      200: jsonAnswer('The backups.', {
        type: 'array',
        items: schemaReference('Backup'),
      }),
    },
    handle: async (context) => {
      const stored = await context.services.backups.placeOf(context.instance).list();
      const items = stored.map(({ name, size, modifiedMs }) => ({
        key: name,
        size,
        modified: toTimestamp(Math.floor(modifiedMs)),
      }));
      return context.answer(JSON.stringify(items));
    },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/api/backups',
    id: 'createBackup',
    summary: 'Make a backup of the instance as it is now',
    description:
      'Answers when it is stored. The instance is used meanwhile. A client that goes away does not end it.',
    isCurrent: true,
    body: schemaReference('CreateBackup'),
    isBodyOptional: true,
    answers: { 204: emptyAnswer('The backup is stored.') },
    handle: async (context) => {
      const { instance, body, services } = context;
      const { name = '' } = body;
      const problem = nameProblem(name);
      if (problem !== undefined) throw refused('create backup', 'name', problem);
      const backup = name === '' ? backupName(instance.slug, instance.dueClock.now()) : String(name);
      if ((await services.backups.placeOf(instance).find(backup)) !== undefined)
        throw refused('create backup', 'name', fieldError('validation_backup_name_exists'));
      return start(context, { kind: 'backup', backup }, 'backup.create');
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/api/backups/status',
    id: 'getBackupStatus',
    summary: 'Get what is known of the backups: the last one, the one that runs, the next one',
    isCurrent: true,
    parameters: ['Fields'],
    answers: { 200: jsonAnswer('What is known.', schemaReference('BackupStatus')) },
    handle: async (context) => {
      const { services, instance } = context;
      const status = await services.backups.status(instance);
      const schedule = await services.backups.schedule(instance);
      return context.answer(JSON.stringify(statusJson(status, schedule)));
    },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/api/backups/upload',
    id: 'uploadBackup',
    summary: 'Store a backup that was downloaded before',
    body: schemaReference('UploadBackup'),
    answers: { 204: emptyAnswer('It is stored.') },
    refusals: [413, 415, 507],
    planForm: (context) => uploadForm(context),
    handle: async (context) => {
      const { instance, body, input, services } = context;
      const file = body['file'];
      if (!(file instanceof UploadedFile))
        throw refused('upload backup', 'file', fieldError('validation_required'));
      const { originalName: name, path, isComplete } = file;
      if (!isComplete)
        throw refused(
          'upload backup',
          'file',
          fieldError('validation_file_size_limit', { file: name, maxSize: uploadBytesMax }),
        );
      if (!isChosenName(name)) throw refused('upload backup', 'file', fieldError('validation_match_invalid'));
      if (!file.isOfType('application/zip'))
        throw refused(
          'upload backup',
          'file',
          fieldError('validation_invalid_mime_type', { file: name, mimeTypes: 'application/zip' }),
        );
      const place = services.backups.placeOf(instance);
      if ((await place.find(name)) !== undefined)
        throw refused('upload backup', 'file', fieldError('validation_backup_name_exists'));
      await place.put(name, path);
      instance.audit.note(input, { action: 'backup.upload', details: { backup: name } });
      return nothing;
    },
  }),
  route({
    ...ofOne,
    method: 'GET',
    path: '/api/backups/:key',
    id: 'downloadBackup',
    tag: 'backups',
    scope: 'any',
    summary: 'Download a backup',
    description:
      'With a file token of a superuser in the query, as browsers do, or with `Authorization`. Ranges work as for files.',
    parameters: ['BackupKey', 'FileToken'],
    answers: {
      200: { description: 'The archive.', content: { '*/*': { schema: {} } } },
      206: {
        description: 'The ranges of it that were asked for.',
        content: { '*/*': { schema: {} } },
      },
    },
    refusals: [416],
    handle: async (context) => {
      await requireReader(context);
      const { instance, params, services, request } = context;
      const { key } = params;
      const place = services.backups.placeOf(instance);
      const backup = isBackupName(key) ? await place.find(key) : undefined;
      if (backup === undefined) throw notFound();
      const { size, modifiedMs } = backup;
      const state = { size, modifiedMs: Math.floor(modifiedMs), type: 'application/zip' };
      return fileAnswer(request, {
        store: place,
        key,
        name: key,
        state,
        isProtected: true,
        isDownload: true,
      });
    },
  }),
  route({
    ...common,
    ...ofOne,
    method: 'DELETE',
    path: '/api/backups/:key',
    id: 'deleteBackup',
    summary: 'Delete a backup',
    isCurrent: true,
    answers: { 204: emptyAnswer('It is deleted.') },
    handle: async (context) => {
      const { instance, params, input, services } = context;
      await requireBackup(context);
      await services.backups.requireFree(instance);
      await services.backups.placeOf(instance).remove(params.key);
      instance.audit.note(input, { action: 'backup.delete', details: { backup: params.key } });
      return nothing;
    },
  }),
  route({
    ...common,
    ...ofOne,
    method: 'POST',
    path: '/api/backups/:key/restore',
    id: 'restoreBackup',
    summary: 'Put the instance back to what it was when the backup was made',
    description:
      'It is built beside the instance and then takes its place, in seconds in which requests get a 503. What was delivered since is not sent again. The operator can bring back the replaced instance for a day.',
    isCurrent: true,
    answers: { 204: emptyAnswer('It is restored.') },
    refusals: [507],
    handle: async (context) => {
      await requireBackup(context);
      return start(context, { kind: 'restore', backup: context.params.key }, 'backup.restore');
    },
  }),
  route({
    ...common,
    ...ofOne,
    method: 'POST',
    path: '/api/backups/:key/verify',
    id: 'verifyBackup',
    summary: 'Restore a backup into a scratch place, and compare every part',
    isCurrent: true,
    answers: { 204: emptyAnswer('It is whole.') },
    refusals: [507],
    handle: async (context) => {
      await requireBackup(context);
      return start(context, { kind: 'verify', backup: context.params.key });
    },
  }),
];

type KeyContext = RequestContext<{ readonly key: string }>;

async function requireBackup({ params, services, instance }: KeyContext): Promise<void> {
  if (!isBackupName(params.key)) throw notFound();
  await services.backups.requireBackup(instance, params.key);
}

async function start(
  { instance, input, services, request }: RequestContext,
  job: Pick<NewTransfer, 'kind' | 'backup'>,
  action?: AuditEntry['action'],
): Promise<Answer> {
  const { signal } = request;
  const onAdded = (): void => {
    if (action !== undefined) instance.audit.note(input, { action, details: { backup: job.backup } });
  };
  await services.backups.run(instance, job, { signal, onAdded });
  return nothing;
}

function nameProblem(name: unknown): ReturnType<typeof fieldError> | undefined {
  if (typeof name !== 'string') return invalidValue('Must be text.');
  return name === '' || isChosenName(name) ? undefined : fieldError('validation_match_invalid');
}

function refused(what: string, member: string, problem: ReturnType<typeof fieldError>): AppError {
  return new AppError('bad_request', `Failed to ${what}.`, { details: { [member]: problem } });
}

/** Throws before anything of the file is read. */
function uploadForm({ caller }: FormContext): FormPlan {
  if (caller.kind === 'guest') throw tokenRequired();
  if (caller.kind === 'user')
    throw new AppError('forbidden', 'The authorized record is not allowed to perform this action.');
  return {
    bytesMax: uploadBytesMax + 1024 * 1024,
    fileBytesMax: (name) => (name === 'file' ? uploadBytesMax : undefined),
    withFiles: (body, files) => ({ ...body, file: files.at(-1)?.[1] }),
  };
}

/** Throws forbidden unless the token in the query, or the header, is of a superuser. */
async function requireReader({ services, instance, request, caller, query }: RequestContext): Promise<void> {
  if (caller.kind === 'superuser' && hasScope(caller, 'admin')) return;
  const token = query.get('token') ?? '';
  const verified = token === '' ? undefined : await verifyRecordToken(instance, token, { kind: 'fileToken' });
  if (verified === undefined || callerOf(verified.collection, verified.id).kind !== 'superuser')
    throw new AppError('forbidden', 'Insufficient permissions to access the resource.');
  services.admission.requireSuperuserPlace(instance, request);
}

function statusJson(
  { open, lastBackup, lastVerification, failure }: BackupStatus,
  schedule: Schedule | undefined,
): object {
  return {
    running: jobJson(open),
    lastBackup: jobJson(lastBackup),
    lastVerification: jobJson(lastVerification),
    failure: jobJson(failure),
    cron: schedule?.cron ?? '',
    next: schedule === undefined ? '' : toTimestamp(schedule.due),
  };
}

/** A job as the API shows it. */
export function jobJson(job: TransferJob | undefined): object | null {
  if (job === undefined) return null;
  const { kind, backup, place, state, requested, started, ended, bytes, message } = job;
  // Where the operator keeps backups is the operator's affair.
  return { kind, backup, byOperator: place !== '', state, requested, started, ended, bytes, message };
}

const text: Schema = { type: 'string' };
const nullableJob: Schema = { oneOf: [schemaReference('BackupJob'), { type: 'null' }] };

export const backupSchemas: Readonly<Record<string, Schema>> = {
  Backup: objectSchema({
    key: { ...text, description: 'Its name.' },
    size: { type: 'integer', description: 'Bytes.' },
    modified: { ...text, description: 'When it was made.' },
  }),
  CreateBackup: objectSchema(
    {
      name: {
        ...text,
        pattern: '^[a-z0-9_-]+\\.zip$',
        maxLength: 150,
        description: 'One is made unless given.',
      },
    },
    [],
  ),
  UploadBackup: objectSchema({ file: { ...text, format: 'binary', description: 'The archive.' } }),
  BackupJob: objectSchema({
    kind: { type: 'string', enum: ['backup', 'restore', 'verify', 'export', 'template', 'clone'] },
    backup: { ...text, description: 'The name of the backup.' },
    byOperator: {
      type: 'boolean',
      description: 'Whether it is kept where the operator keeps backups of all instances.',
    },
    state: { type: 'string', enum: ['waiting', 'running', 'done', 'failed'] },
    requested: text,
    started: text,
    ended: text,
    bytes: { type: 'integer', description: 'The size of the backup; 0 before it is known.' },
    message: { ...text, description: 'Why it failed.' },
  }),
  BackupStatus: objectSchema({
    running: nullableJob,
    lastBackup: nullableJob,
    lastVerification: nullableJob,
    failure: { ...nullableJob, description: 'The last job, where that failed.' },
    cron: { ...text, description: 'The schedule of the settings; empty for none.' },
    next: { ...text, description: 'When the next backup is due.' },
  }),
};
