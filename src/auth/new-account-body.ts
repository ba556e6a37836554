import { extname } from 'node:path';
import { shareOf } from '../access/rule-input.ts';
import { AppError } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import type { Field } from '../fields/field.ts';
import { fieldType } from '../fields/field-types.ts';
import { fileBytesMax, type FileOptions, firstProblem } from '../fields/file-field.ts';
import { Uploads } from '../files/uploads.ts';
import type { ProviderClient } from '../providers/provider-client.ts';
import { ProviderFailure } from '../providers/provider-requests.ts';
import type { ProviderUser } from '../providers/read-user.ts';
import type { RecordBody } from '../records/decode-record.ts';
import type { WriteRequest } from '../records/record-write.ts';
import { newTokenKey } from '../secrets/token.ts';
import { sql } from '../sql/sql.ts';
import type { AuthCollection } from './auth-collection.ts';
import { isIdentity } from './sign-in.ts';

/** Where the picture of a user comes from. */
export interface PictureSource {
  readonly providers: ProviderClient;
  /** Throws where the disk has no room for a file. */
  readonly requireRoom: () => void;
}

export interface NewAccountRequest extends PictureSource {
  readonly collection: AuthCollection;
  readonly provider: string;
  readonly user: ProviderUser;
  readonly createData: JsonObject;
}

/** The body of a new account, with the picture that was downloaded for it. */
export interface NewAccountBody extends AsyncDisposable {
  readonly values: RecordBody;
  /** Runs the write of the account once its picture is in its place. */
  readonly place: <Result>(write: () => Promise<Result>) => Promise<Result>;
}

/**
 * Returns what a user's account is created with: what the client sends, and otherwise the address, a random password and the mapped fields.
 * A value of the provider that its field refuses is left out, as the user cannot change it.
 */
export async function newAccountBody(
  request: WriteRequest,
  account: NewAccountRequest,
): Promise<NewAccountBody> {
  const { collection, user, createData } = account;
  const password = randomPassword(collection);
  const uploads = new Uploads(request.instance, { isDigested: false, requireRoom: account.requireRoom });
  const mapped = await mappedValues(request, account, uploads);
  const hasPassword = Object.hasOwn(createData, 'password');
  const values = {
    ...(user.email !== '' && { email: user.email }),
    ...(!hasPassword && { password, passwordConfirm: password }),
    ...Object.fromEntries(mapped),
    ...createData,
  };
  return {
    values,
    place: async (write) => {
      if (!uploads.hasPlaces) return write();
      try {
        await uploads.place();
        return await write();
      } catch (error) {
        if (error instanceof AppError && !['outcome_unknown', 'unavailable'].includes(error.code))
          await uploads.release();
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => uploads.discard(),
  };
}

function randomPassword({ fields }: AuthCollection): string {
  const max = Number(fields.find(({ name }) => name === 'password')?.options['max'] ?? 0);
  const password = newTokenKey();
  return max > 0 ? password.slice(0, max) : password;
}

async function mappedValues(
  request: WriteRequest,
  account: NewAccountRequest,
  uploads: Uploads,
): Promise<readonly (readonly [string, unknown])[]> {
  const { collection, user, createData } = account;
  const { mappedFields } = collection.auth.oauth2;
  const values: (readonly [string, unknown])[] = [];
  for (const source of ['id', 'name', 'username', 'avatarURL'] as const) {
    const field = collection.fields.find(({ name }) => name === mappedFields[source]);
    const text = user[source];
    if (field === undefined || field.system || text === '' || Object.hasOwn(createData, field.name)) continue;
    if (field.type === 'file') {
      const file =
        source === 'avatarURL' ? await downloadPicture(request, { account, field, uploads }) : undefined;
      if (file !== undefined) values.push([field.name, file]);
    } else if (await isAccepted(request, collection, { field, text })) values.push([field.name, text]);
  }
  return values;
}

/** Whether a field takes a text of the provider. Somebody else may have the same user name, or be the only one who may. */
async function isAccepted(
  { instance }: WriteRequest,
  collection: AuthCollection,
  { field, text }: { readonly field: Field; readonly text: string },
): Promise<boolean> {
  const type = fieldType(field);
  if (type.check(type.normalise(text, field.options), field.options) !== undefined) return false;
  const isUnique = collection.indexes.some(
    ({ isUnique: isSo, columns }) => isSo && columns.length === 1 && columns[0]?.name === field.name,
  );
  if (!isUnique) return true;
  const { database } = instance;
  const rows = await database.tuples(
    sql`SELECT 1 FROM ${database.names.collectionTable(collection.name)} WHERE ${isIdentity(instance, collection, { name: field.name, identity: text })} LIMIT 1`,
  );
  return rows.length === 0;
}

interface PictureDownload {
  readonly account: NewAccountRequest;
  readonly field: Field;
  readonly uploads: Uploads;
}

/** Downloads the picture of a user. Returns undefined when there is none that the field takes: the account is made without. */
async function downloadPicture(
  { instance, input }: WriteRequest,
  { account: { providers, provider, user }, field, uploads }: PictureDownload,
): Promise<unknown> {
  // A field's options were made by its type.
  const options = field.options as FileOptions;
  const bytesMax = fileBytesMax(options);
  try {
    const { body } = await providers.fetchPicture(shareOf(instance.id, input), user.avatarURL, bytesMax);
    const originalName = `avatar${extname(URL.parse(user.avatarURL)?.pathname ?? '').slice(0, 8)}`;
    const file = await uploads.receive({ originalName, content: contentOf(body), bytesMax });
    return firstProblem([file], options) === undefined ? file : undefined;
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    instance.logger.warn('The avatar from a sign-in provider could not be downloaded.', {
      instance: instance.id,
      provider,
      error,
    });
    return undefined;
  }
}

async function* contentOf(body: Buffer): AsyncGenerator<Buffer> {
  yield body;
}
