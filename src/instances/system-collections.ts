import { defaultAuthOptions, tokenKinds, type TokenKind } from '../collections/auth-options.ts';
import type { Collection } from '../collections/collection.ts';
import { CollectionStore } from '../collections/collection-store.ts';
import { superusersName } from '../collections/superusers-name.ts';
import type { Timestamp } from '../base/timestamp.ts';
import type { Sealer } from '../secrets/seal.ts';
import { sql } from '../sql/sql.ts';
import type { Database, Reader, Transaction } from '../storage/database.ts';
import { companionCollections } from './companion-collections.ts';
import { systemCollection } from './system-collection.ts';
import { writeTokenSecrets } from './token-secrets.ts';
import { usersCollection } from './users-collection.ts';

/** The id by which clients know the collection of superusers. */
const superusersId = 'pbc_3142635823';
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
    if (collection.type === 'auth') await writeMissingSecrets(tx, collection.id, options);
  }
  await writeMissingSecrets(tx, superusersId, options);
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
  const wanted = [superusers(now), ...companionCollections(now)];
  const rows = await reader.tuples(sql`
    SELECT id, name FROM ${names.table('$collection')}
    WHERE ${names.scope} AND (id${names.anyOf(wanted.map(({ id }) => id))} OR name${names.anyOf(wanted.map(({ name }) => name))})`);
  const taken = new Set(rows.flat());
  return wanted.filter(({ id, name }) => !taken.has(id) && !taken.has(name));
}

/** Whether superusers have every kind of token secret. Instances from before accounts existed have only that for sessions. */
async function hasAllSecrets(reader: Reader): Promise<boolean> {
  return (await missingSecrets(reader, superusersId)).length === 0;
}

async function writeMissingSecrets(
  tx: Transaction,
  collection: string,
  { sealer }: SystemCollectionsOptions,
): Promise<void> {
  const missing = await missingSecrets(tx, collection);
  await writeTokenSecrets(tx, sealer, { collection, secrets: new Map(missing.map((kind) => [kind, ''])) });
}

async function missingSecrets(reader: Reader, collection: string): Promise<readonly TokenKind[]> {
  const { names } = reader;
  const rows = await reader.tuples(
    sql`SELECT name FROM ${names.table('$secret')} WHERE ${names.scope} AND collection = ${collection} AND record = ''`,
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
