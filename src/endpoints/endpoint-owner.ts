import type { CollectionFinder } from '../collections/collection-store.ts';
import { superusersName } from '../collections/collection.ts';
import { invalidValue } from '../fields/field-error.ts';
import type { DecodedValue } from '../fields/field-type.ts';
import { sql } from '../sql/sql.ts';
import type { Reader } from '../storage/database.ts';

interface Accounts {
  readonly collections: CollectionFinder;
}

/** Decodes the owner of endpoints to `<id of its collection>/<id>`; empty for none. Whether the account exists is for `isAccount`. */
export function decodeOwner(value: unknown, { collections }: Accounts): DecodedValue<string> {
  if (value === '') return { value };
  const [, name = '', id = ''] =
    /^([^/]{1,255})\/([^/]{1,255})$/.exec(typeof value === 'string' ? value : '') ?? [];
  const collection = collections.find(name);
  if (collection?.type === 'auth' && collection.name !== superusersName)
    return { value: `${collection.id}/${id}` };
  return { error: invalidValue('Must be an account, as users/r4nd0m1d0000001.') };
}

/** Whether the owner of endpoints is an account that exists. */
export async function isAccount(reader: Reader, { collections }: Accounts, owner: string): Promise<boolean> {
  const [collectionId = '', id = ''] = owner.split('/');
  const accounts = collections.find(collectionId);
  if (accounts === undefined) return false;
  const { names } = reader;
  const rows = await reader.tuples(
    sql`SELECT 1 FROM ${names.collectionTable(accounts.name)} WHERE id = ${id}`,
  );
  return rows.length > 0;
}
