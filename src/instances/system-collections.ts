import type { Timestamp } from '../base/timestamp.ts';
import { CollectionStore } from '../collections/collection-store.ts';
import {
  type AuthOptions,
  type Collection,
  defaultAuthOptions,
  lockedRules,
  type Rules,
  superusersName,
  type TokenKind,
  tokenKinds,
} from '../collections/collection.ts';
import { withAccountFields } from '../collections/decode-fields.ts';
import { withAccountIndexes } from '../collections/decode-indexes.ts';
import type { IndexDefinition } from '../collections/index-definition.ts';
import type { RawOptions } from '../fields/field-type.ts';
import { createdField, idField, ownField, updatedField } from '../fields/field.ts';
import type { Sealer } from '../secrets/seal.ts';
import { sql } from '../sql/sql.ts';
import type { Database, Reader, Transaction } from '../storage/database.ts';
import { writeTokenSecrets } from './token-secrets.ts';

/** The id by which clients know the collection of superusers. */
export const superusersId = 'pbc_3142635823';
const SUPERUSER_TOKEN_SECONDS = 86_400;

export interface SystemCollectionsOptions {
  readonly database: Database;
  readonly sealer: Sealer;
  readonly now: Timestamp;
}

/**
 * Creates the collections that every instance has, where they are missing: superusers and the companions of accounts. A new
 * instance also gets `users`, which belongs to its owner from then on.
 */
export async function ensureSystemCollections(options: SystemCollectionsOptions): Promise<void> {
  const { database } = options;
  if ((await findMissing(database, options)).length === 0 && (await hasAllSecrets(database))) return;
  // Checked again in the transaction: another process may be opening the same new instance.
  await database.write((tx) => createMissing(tx, options), { isExclusive: true });
}

async function createMissing(tx: Transaction, options: SystemCollectionsOptions): Promise<void> {
  const store = new CollectionStore();
  const missing = await findMissing(tx, options);
  const isNew = missing.some(({ id }) => id === superusersId);
  for (const collection of isNew ? [...missing, usersCollection(options.now)] : missing) {
    await store.create(tx, collection);
    if (collection.type === 'auth') await writeMissingSecrets(tx, collection.id, options.sealer);
  }
  await writeMissingSecrets(tx, superusersId, options.sealer);
}

/**
 * Returns the collections that are missing. One whose name or id is already taken is not: the other collection belongs to the
 * instance's owner and stays as it is.
 */
async function findMissing(
  reader: Reader,
  { now }: SystemCollectionsOptions,
): Promise<readonly Collection[]> {
  const { names } = reader;
  const collections = [superusers(now), ...companionCollections(now)];
  const rows = await reader.tuples(sql`
    SELECT id, name FROM ${names.table('$collection')}
    WHERE ${names.instance.condition} AND (id${names.anyOf(collections.map(({ id }) => id))} OR name${names.anyOf(collections.map(({ name }) => name))})`);
  const idsAndNames = new Set(rows.flat());
  return collections.filter(({ id, name }) => !idsAndNames.has(id) && !idsAndNames.has(name));
}

/** Whether superusers have every kind of token secret. Instances from before accounts existed have only that for sessions. */
async function hasAllSecrets(reader: Reader): Promise<boolean> {
  return (await missingSecrets(reader, superusersId)).length === 0;
}

/** Makes the token secrets of an auth collection that it has not. */
export async function writeMissingSecrets(
  tx: Transaction,
  collection: string,
  sealer: Sealer,
): Promise<void> {
  const missing = await missingSecrets(tx, collection);
  await writeTokenSecrets(tx, sealer, { collection, secrets: new Map(missing.map((kind) => [kind, ''])) });
}

async function missingSecrets(reader: Reader, collection: string): Promise<readonly TokenKind[]> {
  const { names } = reader;
  const rows = await reader.tuples(
    sql`SELECT name FROM ${names.table('$secret')} WHERE ${names.instance.condition} AND collection = ${collection} AND record = ''`,
  );
  const present = new Set(rows.flat());
  return tokenKinds.filter((kind) => !present.has(kind));
}

function superusers(now: Timestamp): Collection {
  return systemCollection({
    id: superusersId,
    name: superusersName,
    now,
    auth: { ...defaultAuthOptions, authToken: { duration: SUPERUSER_TOKEN_SECONDS } },
  });
}

export interface SystemCollectionOptions {
  readonly id: string;
  readonly name: string;
  readonly now: Timestamp;
  readonly rules?: Partial<Rules>;
  /** Fields that follow `id` and an account's own, before the dates. */
  readonly fields?: readonly RawOptions[];
  readonly indexes?: readonly IndexDefinition[];
  /** Makes it an auth collection. */
  readonly auth?: AuthOptions;
}

/** Returns a collection that the service itself makes. */
function systemCollection(options: SystemCollectionOptions): Collection {
  const { id, name, now, rules, fields = [], indexes = [], auth } = options;
  const own = fields.map((raw) => ownField({ ...raw, system: true }));
  const dates = [createdField(), updatedField()].map((field) => ({ ...field, system: true }));
  const all = [idField(), ...own, ...dates];
  return {
    id,
    name,
    type: auth === undefined ? 'base' : 'auth',
    system: true,
    rules: { ...lockedRules, ...rules },
    fields: auth === undefined ? all : withAccountFields(all),
    indexes: auth === undefined ? indexes : withAccountIndexes(id, indexes),
    auth,
    created: now,
    updated: now,
  };
}

const ownerRule =
  "@request.auth.id != '' && recordRef = @request.auth.id && collectionRef = @request.auth.collectionId";

/** The account that a record belongs to. Not a relation, because it may be of any auth collection. */
const account: readonly RawOptions[] = [
  { type: 'text', name: 'collectionRef', required: true },
  { type: 'text', name: 'recordRef', required: true },
];

/** The names of the collections below. */
export const companionNames = ['_externalAuths', '_mfas', '_otps', '_authOrigins'] as const;

export type CompanionName = (typeof companionNames)[number];

/**
 * Returns the companions of auth collections: what accounts have besides their own record (http-api section 19). An owner sees
 * what belongs to their account.
 */
function companionCollections(now: Timestamp): readonly Collection[] {
  const read = { listRule: ownerRule, viewRule: ownerRule };
  return [
    systemCollection({
      id: 'pbc_2281828961',
      name: '_externalAuths',
      now,
      rules: { ...read, deleteRule: ownerRule },
      fields: [...account, requiredText('provider'), requiredText('providerId')],
      indexes: [
        index('idx_externalAuths_record_provider', ['collectionRef', 'recordRef', 'provider'], true),
        index('idx_externalAuths_collection_provider', ['collectionRef', 'provider', 'providerId'], true),
      ],
    }),
    systemCollection({
      id: 'pbc_2279338944',
      name: '_mfas',
      now,
      rules: read,
      fields: [...account, requiredText('method')],
      indexes: [index('idx_mfas_collectionRef_recordRef', ['collectionRef', 'recordRef'], false)],
    }),
    systemCollection({
      id: 'pbc_1638494021',
      name: '_otps',
      now,
      rules: read,
      fields: [
        ...account,
        { type: 'password', name: 'password', hidden: true, required: true, cost: 8 },
        { type: 'text', name: 'sentTo', hidden: true },
      ],
      indexes: [index('idx_otps_collectionRef_recordRef', ['collectionRef', 'recordRef'], false)],
    }),
    systemCollection({
      id: 'pbc_4275539003',
      name: '_authOrigins',
      now,
      rules: { ...read, deleteRule: ownerRule },
      fields: [...account, requiredText('fingerprint')],
      indexes: [index('idx_authOrigins_unique_pairs', ['collectionRef', 'recordRef', 'fingerprint'], true)],
    }),
  ];
}

function requiredText(name: string): RawOptions {
  return { type: 'text', name, required: true };
}

function index(name: string, columns: readonly string[], isUnique: boolean): IndexDefinition {
  return {
    name,
    isUnique,
    columns: columns.map((column) => ({ name: column, isNocase: false, isDescending: false })),
    where: [],
  };
}

const usersOwnerRule = 'id = @request.auth.id';
const avatarTypes = ['image/jpeg', 'image/png', 'image/svg+xml', 'image/gif', 'image/webp'];

/**
 * Returns the collection for the users of a new instance, which its owner may change or delete. Everyone may sign up; users see
 * only themselves.
 */
export function usersCollection(now: Timestamp): Collection {
  const users = systemCollection({
    id: '_pb_users_auth_',
    name: 'users',
    now,
    rules: {
      listRule: usersOwnerRule,
      viewRule: usersOwnerRule,
      createRule: '',
      updateRule: usersOwnerRule,
      deleteRule: usersOwnerRule,
    },
    fields: [
      { type: 'text', name: 'name', max: 255 },
      { type: 'file', name: 'avatar', maxSelect: 1, mimeTypes: avatarTypes },
    ],
    auth: {
      ...defaultAuthOptions,
      oauth2: {
        ...defaultAuthOptions.oauth2,
        mappedFields: { id: '', name: 'name', username: '', avatarURL: 'avatar' },
      },
    },
  });
  const itsOwn = new Set(['name', 'avatar', 'created', 'updated']);
  const fields = users.fields.map((field) => (itsOwn.has(field.name) ? { ...field, system: false } : field));
  return { ...users, system: false, fields };
}
