import { lowerAscii } from '../base/lower-ascii.ts';
import { isIdentityIndex } from '../collections/is-identity-index.ts';
import type { Instance } from '../instances/instance.ts';
import { findRecord } from '../records/find-record.ts';
import type { StoredRecord } from '../records/record.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { AuthCollection } from './with-auth-collection.ts';

export interface Identity {
  readonly identity: string;
  /** The fields to look in. */
  readonly fields: readonly string[];
}

/**
 * Finds the account with this identity: first by address, then by the other fields in their order. In any other order, somebody
 * whose user name is another's address would be found in place of that account.
 */
export async function findByIdentity(
  instance: Instance,
  collection: AuthCollection,
  { identity, fields }: Identity,
): Promise<StoredRecord | undefined> {
  const { database } = instance;
  const table = database.names.collectionTable(collection.name);
  const ordered = fields.toSorted((one, other) => Number(other === 'email') - Number(one === 'email'));
  for (const name of ordered) {
    const [row] = await database.tuples(
      sql`SELECT id FROM ${table} WHERE ${isIdentity(instance, collection, { name, identity })} AND ${database.names.column(name)} <> ''`,
    );
    if (row !== undefined) return findRecord(database, collection, String(row[0]));
  }
  return undefined;
}

/** A condition that compares as the field's unique index does: values that the index takes for equal are one identity. */
function isIdentity(
  { database: { names } }: Instance,
  { indexes }: AuthCollection,
  { name, identity }: { readonly name: string; readonly identity: string },
): Sql {
  const column = names.column(name);
  const isNocase = indexes.some(
    (index) => isIdentityIndex(index, name) && index.columns[0]?.isNocase === true,
  );
  if (!isNocase) return sql`${column} = ${identity}`;
  // Only the case of ASCII letters is ignored, on both engines.
  return names.engine === 'sqlite'
    ? sql`${column} = ${identity} COLLATE NOCASE`
    : sql`lower(${column}) = ${lowerAscii(identity)}`;
}
