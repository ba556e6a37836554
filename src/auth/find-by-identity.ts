import { lowerAscii } from '../base/lower-ascii.ts';
import { isIdentityIndex } from '../collections/is-identity-index.ts';
import type { Instance } from '../instances/instance.ts';
import { findRecord } from '../records/find-record.ts';
import type { StoredRecord } from '../records/record.ts';
import { sql, type Sql } from '../sql/sql.ts';
import type { AuthCollection } from './with-auth-collection.ts';

export interface Identity {
  readonly identity: string;
  /** Where it is looked for. */
  readonly fields: readonly string[];
}

/**
 * The account that has this identity: by its address before all else, or who takes another's address for a user name would stand
 * before them; then by the others in their order.
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

/** In the case that the field's index asks for: what it takes for equal is one identity. */
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
  // The case of ASCII letters, as on the other engine.
  return names.engine === 'sqlite'
    ? sql`${column} = ${identity} COLLATE NOCASE`
    : sql`lower(${column}) = ${lowerAscii(identity)}`;
}
