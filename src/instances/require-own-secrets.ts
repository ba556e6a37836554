import { AppError } from '../base/errors.ts';
import type { CollectionSecret } from '../collections/collection.ts';
import { type MasterKey, SecretError } from '../secrets/master-key.ts';
import { openKeys } from '../secrets/locked-keys.ts';
import { deriveKeys, type InstanceKeys, sealerOf, type SealPlace } from '../secrets/seal.ts';
import { sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';
import type { InstanceEntry } from './instance-rows.ts';
import { tokenSecretPlace } from './token-secrets.ts';

/** How many instances are tried as the owner of misplaced data: each takes 10 µs, and each request to such an instance does it again. */
const triedMax = 1_000;

export interface OwnershipCheck {
  readonly masterKey: MasterKey;
  /** The instance whose data this should be. */
  readonly entry: InstanceEntry;
  /** Returns all instances: only where the owner has to be looked for, as there may be many. */
  readonly entries: () => readonly InstanceEntry[];
}

/**
 * Throws unavailable, with the reason as its cause, when the data belongs to another instance: its file was put in the wrong place.
 * A secret shows it, as it is sealed for its instance and opens nowhere else. New data has none yet.
 */
export async function requireOwnSecrets(
  reader: Reader,
  { masterKey, entry, entries }: OwnershipCheck,
): Promise<void> {
  const { names } = reader;
  const [row] = await reader.tuples(
    sql`SELECT collection, name, value FROM ${names.table('$secret')} WHERE ${names.instance.condition} AND record = '' LIMIT 1`,
  );
  if (row === undefined) return;
  const [collection, name, sealed] = row.map(String);
  // Only these secrets belong to a collection rather than to a record.
  const place = tokenSecretPlace(String(collection), name as CollectionSecret);
  const isOf = (one: InstanceEntry): boolean => opens(masterKey, one, { sealed: String(sealed), place });
  if (isOf(entry)) return;
  const owner = entries().slice(0, triedMax).find(isOf);
  const whose = owner === undefined ? 'to another instance' : `to the instance ${owner.slug} (${owner.id})`;
  const cause = new Error(
    `it belongs ${whose} and not to ${entry.slug} (${entry.id}): put each file back into its own folder`,
  );
  throw new AppError('unavailable', 'The service is not available, try again later.', { cause });
}

/** Returns what an instance seals with. Throws SecretError where the master key is not the one that its keys were sealed with. */
export function storedKeys(
  masterKey: MasterKey,
  { id, key }: Pick<InstanceEntry, 'id' | 'key'>,
): InstanceKeys {
  return key === '' ? deriveKeys(masterKey, id) : openKeys(masterKey, id, key);
}

function opens(
  masterKey: MasterKey,
  entry: Pick<InstanceEntry, 'id' | 'key'>,
  { sealed, place }: { readonly sealed: string; readonly place: SealPlace },
): boolean {
  try {
    sealerOf(storedKeys(masterKey, entry)).open(sealed, place);
    return true;
  } catch (error) {
    if (error instanceof SecretError) return false;
    throw error;
  }
}
