import type { BackupPlace } from '../../../backups/backup-place.ts';
import { AppError } from '../../../base/errors.ts';
import { fieldError } from '../../../fields/field-error.ts';
import {
  archiveInstance,
  cloneInstance,
  importInstance,
  type WholeRequest,
} from '../../../operator/instance-transfers.ts';
import type { UploadedArchive } from '../../../operator/own-transfers.ts';
import { booleanOf, parameterError } from '../../../query/list-parameters.ts';
import type { QueryReader } from '../../../query/list-query.ts';
import type { Answer } from '../../answer.ts';
import { fileAnswer } from '../../file-answer.ts';
import type { OperatorContext } from '../../operator-context.ts';
import { operatorRoute } from '../../route.ts';
import { jsonAnswer } from '../../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../../schemas/schema.ts';
import { managedJson } from './instances.ts';

type OneContext = OperatorContext<{ readonly instance: string }>;

const onOne = { tag: 'operator', isSlow: true, parameters: ['ManagedInstance', 'Fields'] } as const;

/** Larger ones are imported by the command. */
const archiveBytesMax = 16 * 1024 ** 3;

/** Instances as wholes, for the programs of the operator. */
export const operatorTransferRoutes = [
  operatorRoute({
    ...onOne,
    method: 'POST',
    path: '/instances/:instance/clone',
    id: 'cloneInstance',
    scope: 'instances:write',
    summary: 'Copy an instance, as it is now, into a new one with paused endpoints',
    description: 'Answers when the copy is whole. A client that goes away does not end it.',
    body: schemaReference('InstanceClone'),
    answers: { 201: jsonAnswer('The copy.', schemaReference('ManagedInstance')) },
    refusals: [409, 507],
    handle: async (context) => {
      const { operator, body } = context;
      const { slug } = body;
      if (typeof slug !== 'string')
        throw new AppError('bad_request', 'Failed to clone instance.', {
          details: { slug: fieldError('validation_required') },
        });
      const copy = await cloneInstance(operator, slug, requestOf(context));
      return context.answer(managedJson(context, copy), { status: 201 });
    },
  }),
  operatorRoute({
    ...onOne,
    method: 'GET',
    path: '/instances/:instance/archive',
    id: 'archiveInstance',
    scope: 'admin',
    summary: 'Download an archive of an instance as it is now',
    description:
      'It has everything of the instance; its secrets are sealed with the master key. A template has its definitions and settings only.',
    parameters: ['ManagedInstance', 'Template'],
    answers: { 200: { description: 'The archive.', content: { '*/*': { schema: {} } } } },
    refusals: [507],
    handle: async (context) => archiveAnswer(context),
  }),
  operatorRoute({
    ...onOne,
    method: 'POST',
    path: '/instances/import',
    id: 'importInstance',
    scope: 'admin',
    summary: 'Make an instance of an archive',
    description:
      'The body is the archive. Answers when the instance is whole, and nobody finds it before. A client that goes away once the body was received does not end it.',
    parameters: ['ImportSlug', 'ImportHost', 'ImportCopy', 'ImportBackup', 'Passphrase', 'Fields'],
    bodyTypes: ['application/zip', 'application/octet-stream'],
    answers: { 201: jsonAnswer('The instance.', schemaReference('ManagedInstance')) },
    refusals: [409, 413, 415, 507],
    handle: async (context) => {
      const { operator, request, actor, query } = context;
      const host = query.get('host') ?? '';
      const archive = {
        slug: query.get('slug') ?? '',
        host: host === '' ? null : host.toLowerCase(),
        as: useOf(query),
        passphrase: passphraseOf(request.headers['chancery-passphrase']),
        actor,
      };
      const receive = (path: string): Promise<void> => request.receiveBody(path, archiveBytesMax);
      const instance = await importInstance(operator, archive, receive);
      return context.answer(managedJson(context, instance), { status: 201 });
    },
  }),
];

/** Throws bad_request. */
function useOf(query: QueryReader): UploadedArchive['as'] {
  const [isCopy, isBackup] = [flagOf(query, 'copy'), flagOf(query, 'backup')];
  if (isCopy && isBackup) throw parameterError('backup', 'Expected copy or backup, not both.');
  if (isCopy) return 'copy';
  return isBackup ? 'backup' : 'moved';
}

function flagOf(query: QueryReader, name: string): boolean {
  const text = query.get(name) ?? '';
  const value = text === '' ? false : booleanOf(text);
  if (value === undefined) throw parameterError(name, `Expected ${name} to be true or false.`);
  return value;
}

/** Percent-encoded, as a header has neither all letters nor spaces at its ends. Throws bad_request. */
function passphraseOf(header: string | readonly string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  try {
    return decodeURIComponent(String(header));
  } catch (error) {
    // Without what was sent, which is a secret.
    throw new AppError('bad_request', 'Expected Chancery-Passphrase to be percent-encoded UTF-8.', {
      cause: error,
    });
  }
}

async function archiveAnswer(context: OneContext): Promise<Answer> {
  const { operator, params, query, request } = context;
  const { place, name } = await archiveInstance(operator, params.instance, {
    kind: flagOf(query, 'template') ? 'template' : 'export',
    signal: request.goneSignal(),
  });
  const remove = (): void => void place.remove(name).catch(() => undefined);
  try {
    const answer = await downloadAnswer(place, name);
    const body = answer.content?.body;
    if (body !== undefined && 'once' in body) body.once('close', remove);
    else remove();
    return answer;
  } catch (error) {
    remove();
    throw error;
  }
}

async function downloadAnswer(place: BackupPlace, name: string): Promise<Answer> {
  const archive = await place.find(name);
  if (archive === undefined) throw new AppError('unavailable', 'The archive is gone: try again.');
  const state = { size: archive.size, modifiedMs: Math.floor(archive.modifiedMs), type: 'application/zip' };
  const [slug = ''] = name.split('.');
  const file = {
    store: place,
    key: name,
    name: `${slug}.chancery`,
    state,
    isProtected: true,
    isDownload: true,
  };
  // The whole: another request makes another archive.
  return fileAnswer({ method: 'GET', headers: {} }, file);
}

function requestOf({ params, actor, request }: OneContext): WholeRequest {
  return { name: params.instance, actor, isGone: request.isGone };
}

export const operatorTransferSchemas: Readonly<Record<string, Schema>> = {
  InstanceClone: objectSchema({ slug: { type: 'string', description: 'The slug of the copy.' } }),
};
