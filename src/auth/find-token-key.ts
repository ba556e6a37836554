import { assert } from '../base/assert.ts';
import type { Collection } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { readSecret } from '../secrets/secrets.ts';

/** Opened secrets by instance: sealed texts are costly to open, and every request with a token needs one. */
const opened = new WeakMap<Instance, Map<string, string>>();

/**
 * The key that signs and verifies a record's tokens: its own token key and its collection's secret, one after the other.
 * Undefined when the record is gone. The record's part is read each time, so that a changed password ends every session at once.
 */
export async function findTokenKey(
  instance: Instance,
  collection: Collection,
  recordId: string,
): Promise<string | undefined> {
  const own = await readSecret(instance.database, {
    collection: collection.id,
    record: recordId,
    name: 'tokenKey',
  });
  return own === undefined ? undefined : own + (await collectionSecret(instance, collection));
}

async function collectionSecret(instance: Instance, collection: Collection): Promise<string> {
  let secrets = opened.get(instance);
  if (secrets === undefined) opened.set(instance, (secrets = new Map<string, string>()));
  const known = secrets.get(collection.id);
  if (known !== undefined) return known;
  const sealed = await readSecret(instance.database, {
    collection: collection.id,
    record: '',
    name: 'authToken',
  });
  assert(sealed !== undefined, `the auth collection ${collection.name} has a token secret`);
  const secret = instance.sealer.open(sealed, { purpose: 'token-secret', id: collection.id });
  secrets.set(collection.id, secret);
  return secret;
}
