import { lstat, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../base/process.ts';
import { AppError } from '../../base/errors.ts';
import { decodeUtf8, isJsonObject, type JsonObject, parseJson } from '../../base/json.ts';
import { ruleNames, tokenKinds } from '../../collections/collection.ts';
import { digest } from '../../secrets/digest.ts';
import { openEncryptedText } from '../../secrets/master-key.ts';
import { ForeignSqlite, type ForeignValue } from '../../storage/sqlite/foreign-sqlite.ts';

/** A collection as the source defines it. Only checked: id, name and type are texts. */
export interface SourceCollection {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  /** As the collections API would take it: fields, indexes, rules and options, secrets included. */
  readonly definition: JsonObject;
}

/** A data directory, open for reading. */
export interface PocketbaseSource {
  readonly directory: string;
  readonly database: ForeignSqlite;
  readonly collections: readonly SourceCollection[];
  /** Undefined when the source has no settings of its own. */
  readonly settings: JsonObject | undefined;
  /** Identifies a source by its token secrets: sources with equal secrets accept each other's tokens. */
  readonly fingerprint: string;
}

/** Opens a data directory. Throws bad_request when it is none of PocketBase 0.23 or newer, or cannot be read. */
export async function openPocketbaseSource(
  directory: string,
  { encryptionKey }: { readonly encryptionKey: string | undefined },
): Promise<PocketbaseSource> {
  // The directory itself may be a link, as the operator named it. Links inside it come from others and could lead anywhere.
  const stats = await unlessMissing(stat(directory));
  if (stats?.isDirectory() !== true) throw new AppError('bad_request', `${directory} is no directory.`);
  const storage = join(directory, 'storage');
  const files = await unlessMissing(lstat(storage));
  if (files !== undefined && !files.isDirectory())
    throw new AppError('bad_request', `${storage} is no plain directory: links are not followed.`);
  const database = await ForeignSqlite.open(join(directory, 'data.db'));
  try {
    requireVersion(database, directory);
    const collections = readCollections(database);
    const settings = readSettings(database, encryptionKey);
    return { directory, database, collections, settings, fingerprint: fingerprintOf(collections) };
  } catch (error) {
    database.close();
    throw error;
  }
}

function unlessMissing<Found>(looking: Promise<Found>): Promise<Found | undefined> {
  return looking.catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return undefined;
    throw error;
  });
}

function requireVersion(database: ForeignSqlite, directory: string): void {
  const columns = database.columnsOf('_collections');
  if (columns === undefined)
    throw new AppError('bad_request', `${directory} is no data directory of PocketBase.`);
  if (database.columnsOf('_admins') === undefined && columns.includes('fields')) return;
  throw new AppError(
    'bad_request',
    `${directory} was written by PocketBase before 0.23: start it once with PocketBase 0.23 or newer, which brings it up to date, and import it then.`,
  );
}

const columns = [
  'id',
  'name',
  'type',
  'fields',
  'indexes',
  'options',
  ...ruleNames,
  'created',
  'updated',
] as const;

function readCollections(database: ForeignSqlite): readonly SourceCollection[] {
  const rows = [...database.rows('_collections', columns)];
  return rows.map((row) => {
    const members = new Map<string, ForeignValue>(columns.map((column, at) => [column, row[at] ?? null]));
    let owner = 'a collection';
    const text = (member: string): string =>
      placed(`${member} of ${owner}`, () => textOf(members.get(member) ?? null));
    const name = text('name');
    owner = `the collection ${JSON.stringify(name)}`;
    const [id, type] = [text('id'), text('type')];
    const parsed = (member: string): unknown =>
      text(member) === '' ? undefined : placed(`${member} of ${owner}`, () => parseJson(text(member)));
    const options = parsed('options');
    const rules = ruleNames.map((rule) => [rule, members.get(rule) === null ? null : text(rule)] as const);
    const definition = {
      ...(isJsonObject(options) ? options : {}),
      ...Object.fromEntries(rules),
      fields: parsed('fields') ?? [],
      indexes: parsed('indexes') ?? [],
      created: text('created'),
      updated: text('updated'),
    };
    return { id, name, type, definition: { ...definition, id, name, type } };
  });
}

function readSettings(database: ForeignSqlite, encryptionKey: string | undefined): JsonObject | undefined {
  if (database.columnsOf('_params') === undefined) return undefined;
  for (const [id, value] of database.rows('_params', ['id', 'value'])) {
    if (id !== 'settings') continue;
    const stored = placed('the settings', () => textOf(value ?? null));
    // The column's default value.
    if (stored === '') return undefined;
    const plain = isEncrypted(stored) ? openSettings(stored, encryptionKey) : stored;
    const settings = placed('the settings', () => parseJson(plain));
    if (isJsonObject(settings)) return settings;
    throw new AppError('bad_request', 'The settings of the source are JSON, and no object.');
  }
  return undefined;
}

/** Length in base64 of a nonce and a tag alone, without padding. */
const encryptedLengthMin = 38;

/** True for encrypted settings: base64, perhaps in quotes. JSON objects and lists begin with a bracket; other JSON is shorter. */
function isEncrypted(stored: string): boolean {
  return !/^\s*[[{]/.test(stored) && stored.trim().length >= encryptedLengthMin;
}

function openSettings(stored: string, encryptionKey: string | undefined): string {
  if (encryptionKey === undefined) {
    throw new AppError(
      'bad_request',
      'The settings of the source are encrypted: give its key of 32 characters with --encryption-key.',
    );
  }
  // Some versions store the text in quotes, as a JSON string.
  const opened = openEncryptedText(stored.replaceAll('"', ''), encryptionKey);
  if (opened !== undefined) return opened;
  throw new AppError(
    'bad_request',
    'The settings of the source cannot be decrypted with this --encryption-key.',
  );
}

function textOf(value: ForeignValue): string {
  if (value instanceof Uint8Array) return decodeUtf8(value);
  return value === null ? '' : String(value);
}

/** Adds the place in the source to the message of an error. */
function placed<Value>(what: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError('bad_request', `In the source, ${what} cannot be read: ${error.message}`, {
      cause: error,
    });
  }
}

/** Later copies of the same installation have the same fingerprint, because its secrets are generated once. */
function fingerprintOf(collections: readonly SourceCollection[]): string {
  const secrets = collections.flatMap(({ id, definition }) =>
    tokenKinds.flatMap((kind) => {
      const options = definition[kind];
      const secret = isJsonObject(options) ? options['secret'] : undefined;
      return typeof secret === 'string' ? [JSON.stringify([id, kind, secret])] : [];
    }),
  );
  return digest(secrets.toSorted((one, other) => (one < other ? -1 : 1)).join());
}
