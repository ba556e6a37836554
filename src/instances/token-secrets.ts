import type { Caller } from '../access/caller.ts';
import {
  type Collection,
  type CollectionSecret,
  providerSecret,
  superusersName,
} from '../collections/collection.ts';
import type { Sealer, SealPlace } from '../secrets/seal.ts';
import { deleteSecret, writeSecret } from '../secrets/secrets.ts';
import { newTokenSecret } from '../secrets/token.ts';
import type { Transaction } from '../storage/database.ts';

/** Secrets to store for one auth collection. An empty one is to be generated. */
export interface NewTokenSecrets {
  readonly collection: string;
  readonly secrets: ReadonlyMap<CollectionSecret, string>;
}

/** Stores secrets. Tokens signed with the previous ones become invalid. */
export async function writeTokenSecrets(
  tx: Transaction,
  sealer: Sealer,
  { collection, secrets }: NewTokenSecrets,
): Promise<void> {
  for (const [kind, secret] of secrets) {
    const sealed = sealer.seal(secret === '' ? newTokenSecret() : secret, tokenSecretPlace(collection, kind));
    await writeSecret(tx, { collection, record: '', name: kind }, sealed);
  }
}

/** Deletes the secrets of clients at providers that a collection no longer has. */
export async function deleteProviderSecrets(
  tx: Transaction,
  before: Collection,
  after: Collection,
): Promise<void> {
  for (const { name } of before.auth?.oauth2.providers ?? [])
    if (after.auth?.oauth2.providers.some((one) => one.name === name) !== true)
      await deleteSecret(tx, { collection: after.id, record: '', name: providerSecret(name) });
}

/**
 * Returns the place to which a sealed secret is bound. The secret for sessions has no kind in its id, because it is older than
 * the others.
 */
export function tokenSecretPlace(collection: string, kind: CollectionSecret): SealPlace {
  return { purpose: 'token-secret', id: kind === 'authToken' ? collection : `${collection} ${kind}` };
}

/** Returns the caller that a record of an auth collection is when it makes a request. */
export function callerOf({ id: collectionId, name }: Collection, id: string): Caller {
  return name === superusersName ? { kind: 'superuser', id } : { kind: 'user', id, collectionId };
}
