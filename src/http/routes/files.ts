import { Readable } from 'node:stream';
import { type Caller, guest, hasScope } from '../../access/caller.ts';
import { type RuleInput, shareOf } from '../../access/rule-input.ts';
import { withAuthCollection } from '../../auth/auth-collection.ts';
import { tokenRequired } from '../../auth/authenticate.ts';
import { issueToken, verifyRecordToken } from '../../auth/tokens.ts';
import { AppError, notFound } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { codeOf } from '../../base/process.ts';
import { superusersName } from '../../collections/collection.ts';
import { thumbKey } from '../../files/thumb-maker.ts';
import type { Instance } from '../../instances/instance.ts';
import { callerOf } from '../../instances/token-secrets.ts';
import { findRecordFile, type NamedFile, type RecordFile } from '../../records/find-record-file.ts';
import { type Answer, notStored } from '../answer.ts';
import { type FileToSend, fileAnswer } from '../file-answer.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import type { RequestContext } from '../request-context.ts';
import { route } from '../route.ts';

/** What counts as true in a query, as the reference reads it. */
const trueTexts = ['1', 't', 'T', 'TRUE', 'true', 'True'];

/** The files of records, and tokens that stand for their caller in an address. */
export const fileRoutes = [
  route({
    method: 'GET',
    path: '/api/files/:collection/:record/:name',
    id: 'getFile',
    tag: 'files',
    scope: 'any',
    actions: ['file'],
    summary: 'Get a file of a record',
    description:
      'Whoever knows the address of a file gets it, unless its field is protected: then whoever may view the record. `Range`, ' +
      '`If-Range`, `If-None-Match` and `If-Modified-Since` work as RFC 9110 has them.',
    parameters: ['Collection', 'FileRecord', 'FileName', 'Thumb', 'FileToken', 'Download'],
    answers: fileAnswers(),
    refusals: [416],
    handle: async (context) => {
      const { instance, request, params, query } = context;
      const file = await findRecordFile(instance, params, () => inputOf(context));
      if (file === undefined) throw notFound();
      const stored = (await findThumb(context, file)) ?? (await findStored(instance, file.key));
      if (stored === undefined) throw notFound();
      const answer = await fileAnswer(request, {
        ...stored,
        isProtected: file.isProtected,
        isDownload: trueTexts.includes(query.get('download') ?? ''),
      });
      logBreaks(answer, instance.logger);
      return answer;
    },
  }),
  route({
    method: 'POST',
    path: '/api/files/token',
    id: 'createFileToken',
    tag: 'files',
    scope: 'any',
    summary: 'Create a token for the URLs of protected files, valid for three minutes',
    parameters: ['Fields'],
    answers: { 200: jsonAnswer('The token.', schemaReference('FileToken')) },
    refusals: [413, 415],
    handle: async (context) =>
      context.answer(JSON.stringify({ token: await tokenFor(context) }), { headers: notStored }),
  }),
];

type StoredFile = Pick<FileToSend, 'store' | 'key' | 'state' | 'name'>;

async function findStored({ files }: Instance, key: string): Promise<StoredFile | undefined> {
  const { store } = files;
  const state = await store.find(key);
  return state && { store, key, state, name: key.slice(key.lastIndexOf('/') + 1) };
}

/** The size that the administration of the reference shows images in; others are those that a field names. */
const ownSize = '100x100';

/** Returns the thumb that the client asks for, which is made if it is the first; undefined where there is none to be had. */
async function findThumb(
  { services, instance, query, input }: RequestContext,
  { key, thumbs }: RecordFile,
): Promise<StoredFile | undefined> {
  const size = query.get('thumb') ?? '';
  const to = size === ownSize || thumbs.includes(size) ? thumbKey(key, size) : undefined;
  if (to === undefined) return undefined;
  const stored = await findStored(instance, to);
  if (stored !== undefined) return stored;
  const share = shareOf(instance.id, input);
  return (await services.thumbs.make({ share, files: instance.files, key, size }))
    ? findStored(instance, to)
    : undefined;
}

/** Codes with which a stream ends when its client has gone away, of Node and of undici. */
const ofClients = ['ERR_STREAM_PREMATURE_CLOSE', 'UND_ERR_ABORTED'];

/** Logs when a file breaks off while it is sent. That its client goes away is nothing to log. */
function logBreaks({ content }: Answer, logger: Logger): void {
  if (!(content?.body instanceof Readable)) return;
  content.body.once('error', (error) => {
    if (!ofClients.includes(codeOf(error))) logger.error('A file could not be read completely.', { error });
  });
}

/** Throws unauthorized; forbidden for an API key, which is of no account. */
async function tokenFor({ instance, caller }: RequestContext): Promise<string> {
  if (caller.kind === 'guest') throw tokenRequired();
  if (caller.kind === 'superuser' && caller.key !== undefined)
    throw new AppError(
      'forbidden',
      'An API key needs no token: it reads files with the header Authorization.',
    );
  const { id } = caller;
  const of = caller.kind === 'user' ? caller.collectionId : superusersName;
  return withAuthCollection(instance, of, (collection) =>
    issueToken(instance, { collection, id, kind: 'fileToken' }),
  );
}

/** Who reads a protected file: the account of the token in the query, or the API key. No other header tells: an image has none. */
async function inputOf(context: RequestContext<NamedFile>): Promise<RuleInput> {
  const { services, instance, request, input, query } = context;
  const token = query.get('token') ?? '';
  if (token === '') return { ...input, caller: keyOf(context.caller) };
  const verified = await verifyRecordToken(instance, token, { kind: 'fileToken' });
  const caller = verified === undefined ? guest : callerOf(verified.collection, verified.id);
  if (caller.kind === 'superuser') services.admission.requireSuperuserPlace(instance, request);
  return { ...input, caller };
}

function keyOf(caller: Caller): Caller {
  return caller.kind === 'superuser' && caller.key !== undefined && hasScope(caller, 'records:read')
    ? caller
    : guest;
}

function fileAnswers(): Readonly<Record<number, Schema>> {
  const content = { '*/*': { schema: {} } };
  const headers = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } };
  return {
    200: { description: 'The file.', headers, content },
    206: { description: 'The requested ranges of the file.', headers, content },
    304: { description: 'The client has the current file.', headers },
  };
}

export const fileSchemas: Readonly<Record<string, Schema>> = {
  FileToken: objectSchema({
    token: { type: 'string', description: 'For `token` in the URL of a protected file.' },
  }),
};
